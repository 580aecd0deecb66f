package playhead

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"sort"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

// Message, the other direction: values into compact JSON text. It writes what encoding/json writes, by the same tags and
// methods, but for this: <, > and & are written as they are, lone surrogates as escapes; and what JSON cannot carry
// is refused with the place, also where encoding/json would change it in silence (bytes, keys that are not strings,
// text that is not UTF-8).

const maxDepth = 1000

// looksBack is how deep a value may be before it is suspected of being a cycle.
const looksBack = 64

type encoder struct {
	out  []byte
	seen map[visit]bool
}

type visit struct {
	at   uintptr
	kind reflect.Type
}

// encode gives the JSON text of a value.
func encode(value any) ([]byte, error) {
	e := encoder{}
	if err := e.value(value, 0, 0); err != nil {
		return nil, err
	}
	return e.out, nil
}

func refuse(format string, args ...any) error {
	return &NotJSON{Message: fmt.Sprintf(format, args...)}
}

// within says in which part of the value it was.
func within(err error, part string) error {
	if refused, ok := err.(*NotJSON); ok && len(refused.Pointer) < 2000 {
		refused.Pointer = "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(part) + refused.Pointer
	}
	return err
}

func (e *encoder) value(value any, depth, hops int) error {
	switch v := value.(type) {
	case nil:
		e.out = append(e.out, "null"...)
	case bool:
		e.out = strconv.AppendBool(e.out, v)
	case string:
		return e.text(v)
	case int:
		e.out = strconv.AppendInt(e.out, int64(v), 10)
	case int64:
		e.out = strconv.AppendInt(e.out, v, 10)
	case float64:
		return e.float(v, 64)
	case json.Number:
		return e.number(string(v))
	case map[string]any:
		if v == nil {
			e.out = append(e.out, "null"...)
			return nil
		}
		return e.reflected(reflect.ValueOf(v), depth, hops)
	case []any:
		if v == nil {
			e.out = append(e.out, "null"...)
			return nil
		}
		if depth >= looksBack {
			return e.reflected(reflect.ValueOf(v), depth, hops)
		}
		e.out = append(e.out, '[')
		for i, item := range v {
			if i > 0 {
				e.out = append(e.out, ',')
			}
			if err := e.value(item, depth+1, hops); err != nil {
				return within(err, strconv.Itoa(i))
			}
		}
		e.out = append(e.out, ']')
	default:
		return e.reflected(reflect.ValueOf(value), depth, hops)
	}
	return nil
}

func (e *encoder) text(text string) error {
	out := append(e.out, '"')
	from := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c >= utf8.RuneSelf {
			r, width := utf8.DecodeRuneInString(text[i:])
			if r != utf8.RuneError || width > 1 {
				i += width
				continue
			}
			if i+2 >= len(text) || c != 0xED || text[i+1]&0xE0 != 0xA0 || text[i+2]&0xC0 != 0x80 {
				return refuse("text that is not UTF-8: byte 0x%02X at %d", c, i)
			}
			unit := 0xD000 | int(text[i+1]&0x3F)<<6 | int(text[i+2]&0x3F)
			out = append(append(out, text[from:i]...), fmt.Sprintf(`\u%04x`, unit)...)
			i += 3
			from = i
			continue
		}
		if c >= 0x20 && c != '"' && c != '\\' {
			i++
			continue
		}
		out = append(out, text[from:i]...)
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, '\\', 'n')
		case '\r':
			out = append(out, '\\', 'r')
		case '\t':
			out = append(out, '\\', 't')
		default:
			out = append(out, fmt.Sprintf(`\u%04x`, c)...)
		}
		i++
		from = i
	}
	e.out = append(append(out, text[from:]...), '"')
	return nil
}

// appendLossy is for the texts of messages: what is not UTF-8 in them is replaced.
func appendLossy(out []byte, text string) []byte {
	e := encoder{out: out}
	if e.text(text) != nil {
		_ = e.text(strings.ToValidUTF8(text, "\uFFFD"))
	}
	return e.out
}

func (e *encoder) float(v float64, bits int) error {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return refuse("%v is no JSON number", v)
	}
	format := byte('f')
	if abs := math.Abs(v); abs != 0 && (abs < 1e-6 || abs >= 1e21) {
		format = 'e'
	}
	e.out = strconv.AppendFloat(e.out, v, format, -1, bits)
	return nil
}

func (e *encoder) number(text string) error {
	if !isNumber(text) {
		return refuse("%.40q is no JSON number", text)
	}
	if len(text) > 300 || strings.ContainsAny(text, "eE") {
		if v, err := strconv.ParseFloat(text, 64); err != nil || math.IsInf(v, 0) {
			return refuse("a number that no float64 reaches: %.40s", text)
		}
	}
	e.out = append(e.out, text...)
	return nil
}

var (
	marshalerType     = reflect.TypeOf((*json.Marshaler)(nil)).Elem()
	textMarshalerType = reflect.TypeOf((*encoding.TextMarshaler)(nil)).Elem()
)

func (e *encoder) reflected(v reflect.Value, depth, hops int) error {
	if !v.IsValid() {
		e.out = append(e.out, "null"...)
		return nil
	}
	t := v.Type()
	if done, err := e.marshaled(v, t, depth); done {
		return err
	}
	switch v.Kind() {
	case reflect.Bool:
		e.out = strconv.AppendBool(e.out, v.Bool())
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		e.out = strconv.AppendInt(e.out, v.Int(), 10)
		return nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr:
		e.out = strconv.AppendUint(e.out, v.Uint(), 10)
		return nil
	case reflect.Float32, reflect.Float64:
		return e.float(v.Float(), t.Bits())
	case reflect.String:
		if t == reflect.TypeOf(json.Number("")) {
			return e.number(v.String())
		}
		return e.text(v.String())
	case reflect.Interface, reflect.Pointer, reflect.Map, reflect.Slice:
		if v.IsNil() {
			e.out = append(e.out, "null"...)
			return nil
		}
	case reflect.Array, reflect.Struct:
	default:
		return refuse("a %s is nothing that JSON can carry", t)
	}
	if kind := v.Kind(); kind != reflect.Interface && kind != reflect.Pointer {
		if depth++; depth > maxDepth {
			return &LimitExceeded{Message: fmt.Sprintf("a value deeper than %d levels", maxDepth)}
		}
	}
	hops++
	if hops+depth > looksBack && (v.Kind() == reflect.Pointer || v.Kind() == reflect.Map || v.Kind() == reflect.Slice && v.Len() > 0) {
		at := visit{v.Pointer(), t}
		if e.seen[at] {
			return refuse("a cycle")
		}
		if e.seen == nil {
			e.seen = map[visit]bool{}
		}
		e.seen[at] = true
		defer delete(e.seen, at)
	}
	switch v.Kind() {
	case reflect.Interface, reflect.Pointer:
		return e.reflected(v.Elem(), depth, hops)
	case reflect.Map:
		return e.object(v, depth, hops)
	case reflect.Struct:
		return e.fields(v, depth, hops)
	}
	if v.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return refuse("bytes; JSON has none: say how they are to be written (hex, base64)")
	}
	e.out = append(e.out, '[')
	for i := range v.Len() {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := e.reflected(v.Index(i), depth, hops); err != nil {
			return within(err, strconv.Itoa(i))
		}
	}
	e.out = append(e.out, ']')
	return nil
}

// marshaled writes what a MarshalJSON or MarshalText of the value gives, if it has one.
func (e *encoder) marshaled(v reflect.Value, t reflect.Type, depth int) (bool, error) {
	if v.Kind() == reflect.Interface {
		return false, nil // What is in it is asked.
	}
	if v.Kind() != reflect.Pointer && !t.Implements(marshalerType) && !t.Implements(textMarshalerType) {
		pointer := reflect.PointerTo(t)
		if t.Name() == "" || !pointer.Implements(marshalerType) && !pointer.Implements(textMarshalerType) {
			return false, nil
		}
		held := reflect.New(t)
		held.Elem().Set(v)
		v, t = held, pointer
	}
	isJSON := t.Implements(marshalerType)
	if !isJSON && !t.Implements(textMarshalerType) {
		return false, nil
	}
	if !v.CanInterface() {
		return false, nil
	}
	if (v.Kind() == reflect.Pointer || v.Kind() == reflect.Map || v.Kind() == reflect.Slice) && v.IsNil() {
		e.out = append(e.out, "null"...)
		return true, nil
	}
	if !isJSON {
		text, err := v.Interface().(encoding.TextMarshaler).MarshalText()
		if err != nil {
			return true, refuse("%s: %v", t, err)
		}
		return true, e.text(string(text))
	}
	text, err := v.Interface().(json.Marshaler).MarshalJSON()
	if err != nil {
		return true, refuse("%s: %v", t, err)
	}
	value, err := parse(text)
	if err != nil {
		return true, refuse("what MarshalJSON of %s gives is %v", t, err)
	}
	return true, e.value(value, depth, 0)
}

func (e *encoder) object(v reflect.Value, depth, hops int) error {
	if v.Type().Key().Kind() != reflect.String {
		return refuse("a map with keys of the type %s; those of JSON are strings", v.Type().Key())
	}
	keys := v.MapKeys()
	sort.Slice(keys, func(i, j int) bool { return keys[i].String() < keys[j].String() })
	e.out = append(e.out, '{')
	for i, key := range keys {
		if i > 0 {
			e.out = append(e.out, ',')
		}
		if err := e.member(key.String(), v.MapIndex(key), depth, hops); err != nil {
			return err
		}
	}
	e.out = append(e.out, '}')
	return nil
}

func (e *encoder) member(key string, v reflect.Value, depth, hops int) error {
	if err := e.text(key); err != nil {
		return within(err, key)
	}
	e.out = append(e.out, ':')
	var err error
	if v.Kind() == reflect.Interface && !v.IsNil() {
		err = e.value(v.Interface(), depth, hops)
	} else {
		err = e.reflected(v, depth, hops)
	}
	if err != nil {
		return within(err, key)
	}
	return nil
}

type field struct {
	name      string
	index     []int
	tagged    bool
	omitEmpty bool
	omitZero  bool
	quoted    bool
}

var fieldsOf sync.Map // reflect.Type to []field

func (e *encoder) fields(v reflect.Value, depth, hops int) error {
	t := v.Type()
	known, ok := fieldsOf.Load(t)
	if !ok {
		known, _ = fieldsOf.LoadOrStore(t, listFields(t))
	}
	e.out = append(e.out, '{')
	first := true
	for _, f := range known.([]field) {
		part, err := v.FieldByIndexErr(f.index)
		if err != nil || f.omitEmpty && isEmpty(part) || f.omitZero && part.IsZero() {
			continue // An error is an embedded pointer that is nil.
		}
		if !first {
			e.out = append(e.out, ',')
		}
		first = false
		if f.quoted {
			inner := encoder{}
			if err := inner.reflected(part, depth, hops); err != nil {
				return within(err, f.name)
			}
			part = reflect.ValueOf(string(inner.out))
		}
		if err := e.member(f.name, part, depth, hops); err != nil {
			return err
		}
	}
	e.out = append(e.out, '}')
	return nil
}

func isEmpty(v reflect.Value) bool {
	switch v.Kind() {
	case reflect.Array, reflect.Map, reflect.Slice, reflect.String:
		return v.Len() == 0
	case reflect.Struct:
		return false
	}
	return v.IsZero()
}

// listFields gives the members that encoding/json would write: of those with one name the one least deep, of those the
// one with a tag, and none where that does not decide.
func listFields(t reflect.Type) []field {
	var found []field
	for _, f := range allFields(t, nil, map[reflect.Type]bool{}) {
		wins := true
		for _, other := range allFields(t, nil, map[reflect.Type]bool{}) {
			if other.name != f.name || reflect.DeepEqual(other.index, f.index) {
				continue
			}
			if len(other.index) < len(f.index) || len(other.index) == len(f.index) && (other.tagged || !f.tagged) {
				wins = false
			}
		}
		if wins {
			found = append(found, f)
		}
	}
	return found
}

func allFields(t reflect.Type, index []int, inside map[reflect.Type]bool) []field {
	if inside[t] {
		return nil
	}
	inside[t] = true
	defer delete(inside, t)
	var found []field
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		held := f.Type
		if held.Kind() == reflect.Pointer {
			held = held.Elem()
		}
		at := append(append([]int(nil), index...), i)
		if f.Tag.Get("json") == "-" {
			continue
		}
		if f.Anonymous && name == "" && held.Kind() == reflect.Struct {
			found = append(found, allFields(held, at, inside)...)
			continue
		}
		if !f.IsExported() {
			continue
		}
		made := field{name: name, index: at, tagged: name != ""}
		if name == "" {
			made.name = f.Name
		}
		for _, option := range strings.Split(options, ",") {
			made.omitEmpty = made.omitEmpty || option == "omitempty"
			made.omitZero = made.omitZero || option == "omitzero"
			made.quoted = made.quoted || option == "string"
		}
		found = append(found, made)
	}
	return found
}
