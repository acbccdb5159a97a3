package html

import (
	"bytes"
	"encoding/json"
)

// withoutSamples leaves out what stands in the run's transfers already: test's
// document has every sample of the last of them.
//
// What is no JSON, as of a run whose record was damaged, is left out.
func withoutSamples(document json.RawMessage) json.RawMessage {
	if !json.Valid(document) {
		return nil
	}
	if !bytes.Contains(document, []byte(`"samples"`)) {
		return document
	}
	d := json.NewDecoder(bytes.NewReader(document))
	d.UseNumber()
	var out bytes.Buffer
	if err := copyValue(&out, d); err != nil || !json.Valid(out.Bytes()) {
		return document
	}
	return out.Bytes()
}

// copyValue copies one value of JSON and keeps the order of its keys.
func copyValue(out *bytes.Buffer, d *json.Decoder) error {
	token, err := d.Token()
	if err != nil {
		return err
	}
	open, nested := token.(json.Delim)
	if !nested {
		return scalar(out, token)
	}
	out.WriteByte(byte(open))
	for first := true; d.More(); {
		var key json.Token
		if open == '{' {
			if key, err = d.Token(); err != nil {
				return err
			}
			if key == "samples" {
				var dropped json.RawMessage
				if err := d.Decode(&dropped); err != nil {
					return err
				}
				continue
			}
		}
		if !first {
			out.WriteByte(',')
		}
		first = false
		if key != nil {
			if err := scalar(out, key); err != nil {
				return err
			}
			out.WriteByte(':')
		}
		if err := copyValue(out, d); err != nil {
			return err
		}
	}
	closed, err := d.Token()
	if err != nil {
		return err
	}
	if end, ok := closed.(json.Delim); ok {
		out.WriteByte(byte(end))
	}
	return nil
}

func scalar(out *bytes.Buffer, token json.Token) error {
	text, err := json.Marshal(token)
	out.Write(text)
	return err
}
