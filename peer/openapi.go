package peer

import (
	"encoding/json"
	"net/http"
)

// OpenAPI is the OpenAPI 3.1 document of the control API, as a far end serves
// it at /v1/openapi.json.
func OpenAPI() ([]byte, error) {
	return json.MarshalIndent(new(Server).api(http.NewServeMux()).OpenAPI(), "", "  ")
}
