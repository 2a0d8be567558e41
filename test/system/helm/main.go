// Renders a chart's templates as helm does, with the template functions that helm has from sprig: helm itself is not in Debian.
// Standard input: {"chart": directory, "values": {…}, "appVersion": "…"}; standard output: the manifests.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"text/template"

	"github.com/Masterminds/sprig"
)

func main() {
	var input struct {
		Chart      string
		Values     map[string]interface{}
		AppVersion string
	}
	check(json.NewDecoder(os.Stdin).Decode(&input))
	functions := sprig.TxtFuncMap()
	functions["required"] = func(message string, value interface{}) (interface{}, error) {
		if value == nil || value == "" {
			return nil, errors.New(message)
		}
		return value, nil
	}
	// JSON is YAML too
	functions["toYaml"] = func(value interface{}) (string, error) {
		text, err := json.Marshal(value)
		return string(text), err
	}
	files, err := filepath.Glob(filepath.Join(input.Chart, "templates", "*.yaml"))
	check(err)
	data := map[string]interface{}{
		"Values":  input.Values,
		"Release": map[string]string{"Name": "baton", "Namespace": "default"},
		"Chart":   map[string]string{"AppVersion": input.AppVersion},
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		check(err)
		parsed, err := template.New(filepath.Base(file)).Option("missingkey=error").Funcs(functions).Parse(string(text))
		check(err)
		var rendered bytes.Buffer
		check(parsed.Execute(&rendered, data))
		fmt.Printf("---\n%s\n", rendered.String())
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
