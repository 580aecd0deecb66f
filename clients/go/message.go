package playhead

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Message: JSON text into values, and frames. encode.go has the other direction.
//
// encoding/json alone is not enough: it rounds integers, and it replaces what it cannot hold by U+FFFD in silence. What
// is decoded here keeps numbers as json.Number, and lone surrogates as the three bytes that UTF-8 would give them.

type member struct {
	key   string
	value []byte
}

// members gives the members of an object, their values as text.
func members(text []byte) ([]member, error) {
	i := skipSpace(text, 0)
	if i >= len(text) || text[i] != '{' {
		return nil, fmt.Errorf("not an object")
	}
	found := make([]member, 0, 4)
	i = skipSpace(text, i+1)
	if i < len(text) && text[i] == '}' {
		return found, nil
	}
	for {
		end, err := skipString(text, i)
		if err != nil {
			return nil, err
		}
		key, err := unquote(text[i:end])
		if err != nil {
			return nil, err
		}
		i = skipSpace(text, end)
		if i >= len(text) || text[i] != ':' {
			return nil, unexpected(text, i)
		}
		i = skipSpace(text, i+1)
		if end, err = skipValue(text, i); err != nil {
			return nil, err
		}
		found = append(found, member{key, text[i:end]})
		i = skipSpace(text, end)
		if i < len(text) && text[i] == '}' {
			if i = skipSpace(text, i+1); i != len(text) {
				return nil, unexpected(text, i)
			}
			return found, nil
		}
		if i >= len(text) || text[i] != ',' {
			return nil, unexpected(text, i)
		}
		i = skipSpace(text, i+1)
	}
}

// elements gives the elements of an array, as text.
func elements(text []byte) ([][]byte, error) {
	i := skipSpace(text, 0)
	if i >= len(text) || text[i] != '[' {
		return nil, fmt.Errorf("not an array")
	}
	var found [][]byte
	i = skipSpace(text, i+1)
	if i < len(text) && text[i] == ']' {
		return nil, nil
	}
	for {
		end, err := skipValue(text, i)
		if err != nil {
			return nil, err
		}
		found = append(found, text[i:end])
		i = skipSpace(text, end)
		if i < len(text) && text[i] == ']' {
			return found, nil
		}
		if i >= len(text) || text[i] != ',' {
			return nil, unexpected(text, i)
		}
		i = skipSpace(text, i+1)
	}
}

func skipSpace(text []byte, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\t' || text[i] == '\r' || text[i] == '\n') {
		i++
	}
	return i
}

func skipString(text []byte, i int) (int, error) {
	if i >= len(text) || text[i] != '"' {
		return 0, unexpected(text, i)
	}
	for i++; i < len(text); i++ {
		switch text[i] {
		case '"':
			return i + 1, nil
		case '\\':
			i++
		}
	}
	return 0, unexpected(text, i)
}

// skipValue finds the end of a value. It looks at no more than it must: whoever decodes the value looks at the rest.
func skipValue(text []byte, i int) (int, error) {
	if i >= len(text) {
		return 0, unexpected(text, i)
	}
	switch text[i] {
	case '"':
		return skipString(text, i)
	case '{', '[':
		for open := 0; i < len(text); i++ {
			switch text[i] {
			case '"':
				end, err := skipString(text, i)
				if err != nil {
					return 0, err
				}
				i = end - 1
			case '{', '[':
				open++
			case '}', ']':
				if open--; open == 0 {
					return i + 1, nil
				}
			}
		}
		return 0, unexpected(text, i)
	}
	end := i
	for end < len(text) && bytes.IndexByte([]byte(",]} \t\r\n"), text[end]) < 0 {
		end++
	}
	if end == i {
		return 0, unexpected(text, i)
	}
	return end, nil
}

func unexpected(text []byte, i int) error {
	if i >= len(text) {
		return fmt.Errorf("the text ends too early, at byte %d", len(text))
	}
	return fmt.Errorf("%q at byte %d", text[i], i)
}

// unquote reads a string, its quotes included.
func unquote(text []byte) (string, error) {
	if len(text) < 2 || text[0] != '"' || text[len(text)-1] != '"' {
		return "", fmt.Errorf("not a string: %.40q", text)
	}
	inner := text[1 : len(text)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return string(inner), nil
	}
	out := make([]byte, 0, len(inner))
	for i := 0; i < len(inner); i++ {
		if inner[i] != '\\' {
			out = append(out, inner[i])
			continue
		}
		if i++; i >= len(inner) {
			return "", fmt.Errorf("an escape that ends too early")
		}
		switch inner[i] {
		case '"', '\\', '/':
			out = append(out, inner[i])
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			unit, ok := hexUnit(inner, i+1)
			if !ok {
				return "", fmt.Errorf("an escape that is none")
			}
			i += 4
			if utf16.IsSurrogate(unit) {
				if low, ok := hexUnit(inner, i+3); ok && inner[i+1] == '\\' && inner[i+2] == 'u' {
					if both := utf16.DecodeRune(unit, low); both != utf8.RuneError {
						out = utf8.AppendRune(out, both)
						i += 6
						continue
					}
				}
				// Half a character: utf8.AppendRune would replace it.
				out = append(out, 0xE0|byte(unit>>12), 0x80|byte(unit>>6)&0x3F, 0x80|byte(unit)&0x3F)
				continue
			}
			out = utf8.AppendRune(out, unit)
		default:
			return "", fmt.Errorf("an escape that is none: \\%c", inner[i])
		}
	}
	return string(out), nil
}

func hexUnit(text []byte, i int) (rune, bool) {
	if i < 0 || i+4 > len(text) {
		return 0, false
	}
	unit, err := strconv.ParseUint(string(text[i:i+4]), 16, 16)
	return rune(unit), err == nil
}

// parse makes a value of JSON text: nil, bool, string, json.Number, []any or map[string]any.
func parse(text []byte) (any, error) {
	i := skipSpace(text, 0)
	value, end, err := parseAt(text, i)
	if err != nil {
		return nil, err
	}
	if end = skipSpace(text, end); end != len(text) {
		return nil, unexpected(text, end)
	}
	return value, nil
}

func parseAt(text []byte, i int) (any, int, error) {
	if i >= len(text) {
		return nil, 0, unexpected(text, i)
	}
	switch text[i] {
	case '{':
		made := map[string]any{}
		i = skipSpace(text, i+1)
		if i < len(text) && text[i] == '}' {
			return made, i + 1, nil
		}
		for {
			end, err := skipString(text, i)
			if err != nil {
				return nil, 0, err
			}
			key, err := unquote(text[i:end])
			if err != nil {
				return nil, 0, err
			}
			i = skipSpace(text, end)
			if i >= len(text) || text[i] != ':' {
				return nil, 0, unexpected(text, i)
			}
			value, end, err := parseAt(text, skipSpace(text, i+1))
			if err != nil {
				return nil, 0, err
			}
			if _, twice := made[key]; twice {
				return nil, 0, fmt.Errorf("the key %q comes twice", key)
			}
			made[key] = value
			i = skipSpace(text, end)
			if i < len(text) && text[i] == '}' {
				return made, i + 1, nil
			}
			if i >= len(text) || text[i] != ',' {
				return nil, 0, unexpected(text, i)
			}
			i = skipSpace(text, i+1)
		}
	case '[':
		made := []any{}
		i = skipSpace(text, i+1)
		if i < len(text) && text[i] == ']' {
			return made, i + 1, nil
		}
		for {
			value, end, err := parseAt(text, i)
			if err != nil {
				return nil, 0, err
			}
			made = append(made, value)
			i = skipSpace(text, end)
			if i < len(text) && text[i] == ']' {
				return made, i + 1, nil
			}
			if i >= len(text) || text[i] != ',' {
				return nil, 0, unexpected(text, i)
			}
			i = skipSpace(text, i+1)
		}
	case '"':
		end, err := skipString(text, i)
		if err != nil {
			return nil, 0, err
		}
		made, err := unquote(text[i:end])
		return made, end, err
	}
	end, err := skipValue(text, i)
	if err != nil {
		return nil, 0, err
	}
	switch word := string(text[i:end]); word {
	case "null":
		return nil, end, nil
	case "true":
		return true, end, nil
	case "false":
		return false, end, nil
	default:
		if !isNumber(word) {
			return nil, 0, fmt.Errorf("not JSON: %.40q at byte %d", word, i)
		}
		return json.Number(word), end, nil
	}
}

// isNumber says whether the text is a number as JSON writes it.
func isNumber(text string) bool {
	i := 0
	digits := func() bool {
		from := i
		for i < len(text) && '0' <= text[i] && text[i] <= '9' {
			i++
		}
		return i > from
	}
	if i < len(text) && text[i] == '-' {
		i++
	}
	zero := i < len(text) && text[i] == '0'
	from := i
	if !digits() || zero && i > from+1 {
		return false
	}
	if i < len(text) && text[i] == '.' {
		if i++; !digits() {
			return false
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if !digits() {
			return false
		}
	}
	return i == len(text)
}

// decode makes a T of JSON text. Where T is any, and inside it, numbers are json.Number.
func decode[T any](text []byte) (T, error) {
	var made T
	var err error
	switch into := any(&made).(type) {
	case *any:
		*into, err = parse(text)
		return made, err
	case *map[string]any, *[]any:
		value, err := parse(text)
		if err != nil || value == nil {
			return made, err
		}
		if fits, ok := value.(T); ok {
			return fits, nil
		}
	case *json.RawMessage:
		*into = bytes.Clone(text)
		return made, nil
	case *string:
		if len(text) > 0 && text[0] == '"' {
			*into, err = unquote(text)
			return made, err
		}
	case *int64:
		if *into, err = strconv.ParseInt(string(text), 10, 64); err == nil {
			return made, nil
		}
	}
	if half := loneSurrogate(text); half != "" {
		return made, &NotJSON{Message: fmt.Sprintf("half a character, %s, which a %T cannot hold; any and string can", half, made)}
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	err = decoder.Decode(&made)
	return made, err
}

// loneSurrogate gives the first escape that is half a character, or nothing.
func loneSurrogate(text []byte) string {
	for i := 0; i < len(text); i++ {
		next := bytes.IndexByte(text[i:], '\\')
		if next < 0 {
			break
		}
		i += next + 1
		unit, ok := hexUnit(text, i+1)
		if i >= len(text) || text[i] != 'u' || !ok || !utf16.IsSurrogate(unit) {
			continue
		}
		low, ok := hexUnit(text, i+7)
		if !ok || text[i+5] != '\\' || text[i+6] != 'u' || utf16.DecodeRune(unit, low) == utf8.RuneError {
			return string(text[i-1 : i+5])
		}
		i += 10
	}
	return ""
}

// Frames.

func appendRequest(out []byte, id int64, method string, call, ask int64, tail []byte) []byte {
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = strconv.AppendInt(out, id, 10)
	out = append(out, `,"method":"`...)
	out = append(out, method...)
	out = append(out, `","params":{"call":`...)
	out = strconv.AppendInt(out, call, 10)
	out = append(out, `,"ask":`...)
	out = strconv.AppendInt(out, ask, 10)
	out = append(out, tail...)
	return append(out, "}}\n"...)
}

func appendNotification(out []byte, method string, call int64, tail []byte) []byte {
	out = append(out, `{"jsonrpc":"2.0","method":"`...)
	out = append(out, method...)
	out = append(out, `","params":{"call":`...)
	out = strconv.AppendInt(out, call, 10)
	out = append(out, tail...)
	return append(out, "}}\n"...)
}

func appendReply(out, id, result []byte) []byte {
	out = append(out, `{"jsonrpc":"2.0","id":`...)
	out = append(out, id...)
	out = append(out, `,"result":`...)
	out = append(out, result...)
	return append(out, "}\n"...)
}

func refusal(id []byte, code int, message string, data string) []byte {
	if id == nil {
		id = []byte("null")
	}
	out := append([]byte(`{"jsonrpc":"2.0","id":`), id...)
	out = append(out, `,"error":{"code":`...)
	out = strconv.AppendInt(out, int64(code), 10)
	out = append(out, `,"message":`...)
	out = appendLossy(out, message)
	if data != "" {
		out = append(out, `,"data":`...)
		out = append(out, data...)
	}
	return append(out, "}}\n"...)
}
