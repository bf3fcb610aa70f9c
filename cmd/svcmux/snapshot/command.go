package snapshot

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"nowake.ai/svc-lb-mux/cmd/svcmux/archive"
	"nowake.ai/svc-lb-mux/cmd/svcmux/cli"
	"nowake.ai/svc-lb-mux/cmd/svcmux/look"
)

type options struct {
	look.Flags
	hashNames bool
	random    io.Reader // of the salt for hashes
}

// Command returns the command.
func Command(env cli.Env) *cobra.Command {
	o := options{random: rand.Reader}
	cmd := &cobra.Command{
		Use:   "snapshot FILE|-",
		Short: "Write a file with which the other commands work elsewhere",
		Long: `Write a file with the objects that the other commands read, and with the API server's refusals. status,
ports, explain, plan, doctor, survey, import and version read it with --snapshot FILE. They print the same as for the
cluster, at the time of the snapshot.

Of the Gateway API it has the Gateways that are served here or give numbers, and what belongs to them: GatewayClasses,
ListenerSets, TCPRoutes, UDPRoutes, ReferenceGrants, and the labels of their namespaces.

Secrets are never read. Fields that no command reads are left out. With --hash-names, hashes replace the names of
namespaces, Services, pods and nodes, and of objects of the Gateway API, DNS names, and values of labels and foreign
annotations. The same name has the same hash throughout the file. Names of ports and listeners, IP addresses, and
names of svc-lb-mux's own parts stay. Look through the file before you pass it on: it is JSON, packed with gzip.`,
		Example: `  {{.}} snapshot today.json.gz
  {{.}} status --snapshot today.json.gz
  {{.}} snapshot --hash-names - | gzip --decompress --stdout | less`,
		Args: oneFile,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), env, args[0]) },
	}
	cmd.Example = strings.ReplaceAll(cmd.Example, "{{.}}", env.Program)
	cmd.Flags().BoolVar(&o.hashNames, "hash-names", false, "hashes in place of names")
	o.Bind(cmd, env)
	return cmd
}

func oneFile(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return cli.Usagef("name one file to write, or - for standard output (%s -h has examples)", cmd.CommandPath())
	}
	return nil
}

func (o *options) run(ctx context.Context, env cli.Env, path string) error {
	if err := o.Check(); err != nil {
		return err
	}
	taken, language, err := o.gather(ctx, env)
	if err != nil {
		return err
	}
	if o.hashNames {
		salt := make([]byte, saltSize)
		if _, err := io.ReadFull(o.random, salt); err != nil {
			return err
		}
		hashNames(taken, language, salt)
	}
	if path == "-" {
		return taken.Write(env.Out)
	}
	if err := create(path, taken); err != nil {
		return err
	}
	_, err = fmt.Fprintf(env.Out, "%s has %s.\n%s status --snapshot %s reads it.\n", cli.Shown(path), summary(taken),
		env.Program, cli.Shown(path))
	return err
}

// create writes a new file. An error leaves no file.
func create(path string, taken *archive.Archive) error {
	var content bytes.Buffer
	if err := taken.Write(&content); err != nil {
		return err
	}
	const onlyMine = 0o600
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, onlyMine) //nolint:gosec // the user names the file
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists: name another file, or remove this one", cli.Shown(path))
	}
	if err != nil {
		return fmt.Errorf("the snapshot can't be written: %w: name another file", err)
	}
	_, err = file.Write(content.Bytes())
	if closed := file.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return errors.Join(fmt.Errorf("the snapshot can't be written: %w: name another file", err), os.Remove(path))
	}
	return nil
}

// summary counts objects by kind.
func summary(taken *archive.Archive) string {
	var kinds []string
	count := map[string]int{}
	for _, object := range taken.Objects {
		if kind := object.Kind(); count[kind] == 0 {
			kinds = append(kinds, kind)
		}
		count[object.Kind()]++
	}
	for i, kind := range kinds {
		kinds[i] = cli.Count(count[kind], kind)
	}
	if len(kinds) == 0 {
		return "no object"
	}
	return strings.Join(kinds, ", ")
}
