// Command gitops-health computes the status of Kubernetes objects as tools for continuous delivery do.
//
// It reads {"script": LUA, "objects": [OBJECT, …]} from standard input, and writes a list of
// {"kstatus": STATUS, "argocd": STATUS, "messages": [KSTATUS, ARGOCD]} to standard output.
//
// kstatus: the library itself. Argo CD: its rules around a health script (util/lua, health.GetResourceHealth), which is
// run by the same Lua interpreter with the same libraries.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	lua "github.com/yuin/gopher-lua"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

type output struct {
	Kstatus  string    `json:"kstatus"`
	Argocd   string    `json:"argocd"`
	Messages [2]string `json:"messages"`
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintf(os.Stderr, "failed to compute the health: %v\n", err)
		os.Exit(1)
	}
}

func run() error {
	var asked struct {
		Script  string            `json:"script"`
		Objects []json.RawMessage `json:"objects"`
	}
	if err := json.NewDecoder(os.Stdin).Decode(&asked); err != nil {
		return err
	}
	results := []output{}
	for _, raw := range asked.Objects {
		object := &unstructured.Unstructured{}
		// Integers become int64, as in clients of the API server.
		if err := object.UnmarshalJSON(raw); err != nil {
			return err
		}
		computed, err := status.Compute(object)
		if err != nil {
			return err
		}
		health, message, err := argoHealth(object, asked.Script)
		if err != nil {
			return err
		}
		results = append(results, output{
			Kstatus:  string(computed.Status),
			Argocd:   health,
			Messages: [2]string{computed.Message, message},
		})
	}
	return json.NewEncoder(os.Stdout).Encode(results)
}

func argoHealth(object *unstructured.Unstructured, script string) (string, string, error) {
	// Argo CD decides this before it runs a script.
	if object.GetDeletionTimestamp() != nil {
		return "Progressing", "Pending deletion", nil
	}
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for _, library := range []struct {
		name string
		open lua.LGFunction
	}{{lua.LoadLibName, lua.OpenPackage}, {lua.BaseLibName, lua.OpenBase}, {lua.TabLibName, lua.OpenTable}} {
		call := lua.P{Fn: state.NewFunction(library.open), NRet: 0, Protect: true}
		if err := state.CallByParam(call, lua.LString(library.name)); err != nil {
			return "", "", err
		}
	}
	state.SetGlobal("obj", toLua(state, object.Object))
	if err := state.DoString(script); err != nil {
		return "", "", err
	}
	result, isTable := state.Get(-1).(*lua.LTable)
	if !isTable {
		return "", "", fmt.Errorf("the script returns %s instead of a table", state.Get(-1).Type())
	}
	health := lua.LVAsString(result.RawGetString("status"))
	switch health {
	case "Healthy", "Progressing", "Degraded", "Suspended":
		return health, lua.LVAsString(result.RawGetString("message")), nil
	}
	return "", "", fmt.Errorf("the script returns the status %q, which Argo CD shows as Unknown", health)
}

func toLua(state *lua.LState, value interface{}) lua.LValue {
	switch typed := value.(type) {
	case bool:
		return lua.LBool(typed)
	case string:
		return lua.LString(typed)
	case int64:
		return lua.LNumber(typed)
	case float64:
		return lua.LNumber(typed)
	case []interface{}:
		list := state.CreateTable(len(typed), 0)
		for _, item := range typed {
			list.Append(toLua(state, item))
		}
		return list
	case map[string]interface{}:
		table := state.CreateTable(0, len(typed))
		for key, item := range typed {
			table.RawSetString(key, toLua(state, item))
		}
		return table
	}
	return lua.LNil
}
