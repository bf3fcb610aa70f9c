package docs

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// insights has the fields of OpenSSF's Security Insights 2.0.0 that the file uses. Any other field is a mistake.
type insights struct {
	Header struct {
		SchemaVersion string `json:"schema-version"`
		LastUpdated   string `json:"last-updated"`
		LastReviewed  string `json:"last-reviewed"`
		URL           string `json:"url"`
		Comment       string `json:"comment"`
	} `json:"header"`
	Project struct {
		Name           string    `json:"name"`
		Homepage       string    `json:"homepage"`
		Roadmap        string    `json:"roadmap"`
		Administrators []contact `json:"administrators"`
		Repositories   []struct {
			Name    string `json:"name"`
			URL     string `json:"url"`
			Comment string `json:"comment"`
		} `json:"repositories"`
		Documentation struct {
			DetailedGuide         string `json:"detailed-guide"`
			QuickstartGuide       string `json:"quickstart-guide"`
			CodeOfConduct         string `json:"code-of-conduct"`
			ReleaseProcess        string `json:"release-process"`
			SignatureVerification string `json:"signature-verification"`
		} `json:"documentation"`
		VulnerabilityReporting struct {
			ReportsAccepted    *bool    `json:"reports-accepted"`
			BugBountyAvailable *bool    `json:"bug-bounty-available"`
			SecurityPolicy     string   `json:"security-policy"`
			Comment            string   `json:"comment"`
			InScope            []string `json:"in-scope"`
			OutOfScope         []string `json:"out-of-scope"`
		} `json:"vulnerability-reporting"`
	} `json:"project"`
	Repository struct {
		URL                           string    `json:"url"`
		Status                        string    `json:"status"`
		AcceptsChangeRequest          *bool     `json:"accepts-change-request"`
		AcceptsAutomatedChangeRequest *bool     `json:"accepts-automated-change-request"`
		BugFixesOnly                  *bool     `json:"bug-fixes-only"`
		NoThirdPartyPackages          *bool     `json:"no-third-party-packages"`
		CoreTeam                      []contact `json:"core-team"`
		License                       license   `json:"license"`
		Documentation                 struct {
			ContributingGuide string `json:"contributing-guide"`
			Governance        string `json:"governance"`
			ReviewPolicy      string `json:"review-policy"`
			SecurityPolicy    string `json:"security-policy"`
		} `json:"documentation"`
		Release struct {
			AutomatedPipeline  *bool         `json:"automated-pipeline"`
			Changelog          string        `json:"changelog"`
			DistributionPoints []any         `json:"distribution-points"`
			License            license       `json:"license"`
			Attestations       []attestation `json:"attestations"`
		} `json:"release"`
		Security struct {
			Assessments struct {
				Self struct {
					Evidence string `json:"evidence"`
					Date     string `json:"date"`
					Comment  string `json:"comment"`
				} `json:"self"`
			} `json:"assessments"`
			Tools []struct {
				Name        string   `json:"name"`
				Type        string   `json:"type"`
				Comment     string   `json:"comment"`
				Rulesets    []string `json:"rulesets"`
				Integration struct {
					AdHoc   *bool `json:"adhoc"`
					CI      *bool `json:"ci"`
					Release *bool `json:"release"`
				} `json:"integration"`
				Results map[string]attestation `json:"results"`
			} `json:"tools"`
		} `json:"security"`
	} `json:"repository"`
}

type contact struct {
	Name    string `json:"name"`
	Primary *bool  `json:"primary"`
}

type license struct {
	URL        string `json:"url"`
	Expression string `json:"expression"`
}

type attestation struct {
	Name         string `json:"name"`
	PredicateURI string `json:"predicate-uri"`
	Location     string `json:"location"`
	Comment      string `json:"comment"`
}

func TestSecurityInsightsHasTheFormOfItsSpecification(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "SECURITY-INSIGHTS.yml"))
	if err != nil {
		t.Fatal(err)
	}
	var got insights
	if err := yaml.UnmarshalStrict(text, &got); err != nil {
		t.Fatal(err)
	}
	for _, path := range empty(reflect.ValueOf(got), "") {
		t.Errorf("%s is missing", path)
	}
	if got.Header.SchemaVersion != "2.0.0" {
		t.Errorf("schema-version is %q", got.Header.SchemaVersion)
	}
	for _, date := range []string{got.Header.LastUpdated, got.Header.LastReviewed,
		got.Repository.Security.Assessments.Self.Date} {
		if !regexp.MustCompile(`^\d{4}-\d\d-\d\d$`).MatchString(date) {
			t.Errorf("%q is no date", date)
		}
	}
}

// empty returns the fields that have no value. Lists may be empty: not everything exists yet.
func empty(value reflect.Value, path string) []string {
	switch value.Kind() {
	case reflect.Struct:
		var found []string
		for i := range value.NumField() {
			found = append(found, empty(value.Field(i), path+"."+value.Type().Field(i).Tag.Get("json"))...)
		}

		return found
	case reflect.Slice:
		var found []string
		for i := range value.Len() {
			found = append(found, empty(value.Index(i), fmt.Sprintf("%s[%d]", path, i))...)
		}

		return found
	case reflect.String, reflect.Pointer:
		if value.IsZero() {
			return []string{path}
		}
	}

	return nil
}

// TestAddressesOfSecurityInsightsLeadToFiles checks addresses below the module's path as links to files of this
// checkout.
func TestAddressesOfSecurityInsightsLeadToFiles(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "SECURITY-INSIGHTS.yml"))
	if err != nil {
		t.Fatal(err)
	}
	all := proseOf(t, pages(t))
	found := regexp.MustCompile(`https://nowake\.ai/svc-lb-mux/(\S+)`).FindAllSubmatch(text, -1)
	if len(found) == 0 {
		t.Fatal("the file has no address of ours")
	}
	for _, address := range found {
		link := strings.TrimSuffix(string(address[1]), "/")
		if err := leads(all, "SECURITY-INSIGHTS.yml", link); err != nil {
			t.Error(err)
		}
	}
}
