package webhook

import "bytes"

const (
	// elementWeight is the memory of an element of a JSON array. The worst case is a Service's port without a name: its
	// struct, and a denial about it. A test measures this case.
	elementWeight = 768
	// fieldWeight is the memory of a member of a JSON object. The worst case is an annotation.
	fieldWeight = 80
	// maxDecodeWeight limits the memory to decode and judge one request. Two objects with 10,000 ports each, and the
	// managed fields of two appliers, take half of it.
	maxDecodeWeight = 40 << 20
	// managedFields precedes an object that the decoder copies without decoding it.
	managedFields = `"fieldsV1":`
	// maxDepth is the JSON decoder's limit of nesting.
	maxDepth = 10_000
)

// decodeWeight estimates the memory to decode and judge a JSON body. A short body can need a lot: each "{}," in a list
// becomes a struct of a hundred bytes.
//
// It doesn't check the JSON: invalid JSON isn't decoded, whatever its weight.
func decodeWeight(body []byte) int64 {
	var elements, fields int64
	inArray := make([]bool, 0, 64)
	raw := 0 // the depth of the object whose fields aren't decoded; 0 outside of such an object
	for i := 0; i < len(body) && len(inArray) <= maxDepth; i++ {
		switch body[i] {
		case '"':
			i = stringEnd(body, i)
		case '[':
			inArray, elements = append(inArray, true), elements+1
		case '{':
			inArray = append(inArray, false)
			if raw == 0 && bytes.HasSuffix(body[:i], []byte(managedFields)) {
				raw = len(inArray)
			}
		case ']', '}':
			if len(inArray) == raw {
				raw = 0
			}
			inArray = inArray[:max(0, len(inArray)-1)]
		case ':':
			if raw == 0 {
				fields++
			}
		case ',':
			if len(inArray) > 0 && inArray[len(inArray)-1] {
				elements++
			}
		}
	}
	const copies = 2 // the raw object, and the strings of the decoded one
	return copies*int64(len(body)) + elements*elementWeight + fields*fieldWeight
}

// stringEnd returns the index of the closing quote of the string whose opening quote is at start.
func stringEnd(body []byte, start int) int {
	for i := start + 1; i < len(body); i++ {
		switch body[i] {
		case '\\':
			i++
		case '"':
			return i
		}
	}
	return len(body)
}
