package cli

import "github.com/spf13/cobra"

// NoArgs refuses arguments that no flag introduces.
func NoArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return Usagef("unexpected argument %q (%s -h lists the flags)", args[0], cmd.CommandPath())
}
