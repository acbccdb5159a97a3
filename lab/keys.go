package lab

import (
	"reflect"
	"slices"
)

// keys are all keys of the scenario format.
func keys() []string {
	found := map[string]bool{}
	collectKeys(reflect.TypeFor[Scenario](), found)
	var all []string
	for key := range found {
		all = append(all, key)
	}
	slices.Sort(all)
	return all
}

func collectKeys(t reflect.Type, found map[string]bool) {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		collectKeys(t.Elem(), found)
	case reflect.Struct:
		for field := range t.Fields() {
			if key := field.Tag.Get("yaml"); key != "" {
				found[key] = true
				collectKeys(field.Type, found)
			}
		}
	}
}
