//! Values into JSON text and back, and frames.
//!
//! serde_json reads; it does not write: it would make null of NaN, and text of keys that are not strings. What is
//! written here is refused with the place if JSON cannot carry it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::{self, Write};

use serde::de::DeserializeOwned;
use serde::{ser, Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::errors::Error;

pub const MAX_DEPTH: usize = 1000;

/// A value of JSON text. Numbers are read exactly: an `f64` is the nearest, an integer type takes its own width.
pub fn decode<T: DeserializeOwned>(text: &str) -> Result<T, serde_json::Error> {
    borrowed(text)
}

pub fn borrowed<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    reader.disable_recursion_limit(); // The limit of the protocol is 1000, and the daemon keeps it.
    let made = T::deserialize(&mut reader)?;
    reader.end()?;
    Ok(made)
}

/// The compact JSON text of a value.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<String, Error> {
    let mut writer = Writer { out: String::new(), depth: 0 };
    match value.serialize(&mut writer) {
        Ok(()) => Ok(writer.out),
        Err(Refused { message, deep: true, .. }) => Err(Error::LimitExceeded(message)),
        Err(Refused { message, pointer, .. }) => Err(Error::NotJson { message, pointer }),
    }
}

/// A string as JSON writes it.
pub fn push_text(out: &mut String, text: &str) {
    out.push('"');
    let mut from = 0;
    for (i, byte) in text.bytes().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.push_str(&text[from..i]);
        from = i + 1;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            _ => push(out, format_args!("\\u{byte:04x}")),
        }
    }
    out.push_str(&text[from..]);
    out.push('"');
}

pub fn push(out: &mut String, what: fmt::Arguments) {
    let _ = out.write_fmt(what); // Writing to a String does not fail.
}

struct Writer {
    out: String,
    depth: usize,
}

#[derive(Debug)]
struct Refused {
    message: String,
    pointer: String,
    deep: bool,
}

impl Refused {
    fn new(message: impl Into<String>) -> Self {
        Refused { message: message.into(), pointer: String::new(), deep: false }
    }

    fn within(mut self, part: &str) -> Self {
        self.pointer = format!("/{}{}", part.replace('~', "~0").replace('/', "~1"), self.pointer);
        self
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refused {}

impl ser::Error for Refused {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Refused::new(message.to_string())
    }
}

type Done = Result<(), Refused>;

// How serde_json says, to any serializer, that a text is JSON already.
const RAW: &str = "$serde_json::private::RawValue";
const NUMBER: &str = "$serde_json::private::Number";

impl Writer {
    fn float(&mut self, text: String, finite: bool) -> Done {
        if !finite {
            return Err(Refused::new(format!("{text} is no JSON number")));
        }
        self.out.push_str(&text);
        Ok(())
    }

    fn open(&mut self, bracket: &str, close: &'static str) -> Result<Parts<'_>, Refused> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("a value deeper than {MAX_DEPTH} levels");
            return Err(Refused { message, pointer: String::new(), deep: true });
        }
        self.out.push_str(bracket);
        Ok(Parts { writer: self, close, index: 0, key: String::new(), levels: 1, raw: false })
    }

    fn variant(&mut self, name: &str, bracket: &str, close: &'static str) -> Result<Parts<'_>, Refused> {
        self.depth += 1;
        self.out.push('{');
        push_text(&mut self.out, name);
        self.out.push(':');
        let mut parts = self.open(bracket, close)?;
        parts.levels = 2;
        Ok(parts)
    }
}

macro_rules! plainly {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, value: $type) -> Done {
            push(&mut self.out, format_args!("{value}"));
            Ok(())
        })*
    };
}

impl<'a> ser::Serializer for &'a mut Writer {
    type Ok = ();
    type Error = Refused;
    type SerializeSeq = Parts<'a>;
    type SerializeTuple = Parts<'a>;
    type SerializeTupleStruct = Parts<'a>;
    type SerializeTupleVariant = Parts<'a>;
    type SerializeMap = Parts<'a>;
    type SerializeStruct = Parts<'a>;
    type SerializeStructVariant = Parts<'a>;

    plainly! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_i128: i128, serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64,
        serialize_u128: u128
    }

    fn serialize_f32(self, value: f32) -> Done {
        let far = value != 0.0 && !(1e-6..1e21).contains(&value.abs());
        self.float(if far { format!("{value:e}") } else { format!("{value}") }, value.is_finite())
    }

    fn serialize_f64(self, value: f64) -> Done {
        let far = value != 0.0 && !(1e-6..1e21).contains(&value.abs());
        self.float(if far { format!("{value:e}") } else { format!("{value}") }, value.is_finite())
    }

    fn serialize_char(self, value: char) -> Done {
        self.serialize_str(value.encode_utf8(&mut [0; 4]))
    }

    fn serialize_str(self, value: &str) -> Done {
        push_text(&mut self.out, value);
        Ok(())
    }

    fn serialize_bytes(self, _: &[u8]) -> Done {
        Err(Refused::new("bytes; JSON has none: say how they are to be written (hex, base64)"))
    }

    fn serialize_none(self) -> Done {
        self.serialize_unit()
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Done {
        self.out.push_str("null");
        Ok(())
    }

    fn serialize_unit_struct(self, _: &'static str) -> Done {
        self.serialize_unit()
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Done {
        self.serialize_str(variant)
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Done {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Done {
        let mut parts = self.open("{", "}")?;
        parts.member(variant, value)?;
        parts.finish()
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Parts<'a>, Refused> {
        self.open("[", "]")
    }

    fn serialize_tuple(self, _: usize) -> Result<Parts<'a>, Refused> {
        self.open("[", "]")
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Parts<'a>, Refused> {
        self.open("[", "]")
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>, Refused> {
        self.variant(variant, "[", "]}")
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Parts<'a>, Refused> {
        self.open("{", "}")
    }

    fn serialize_struct(self, name: &'static str, _: usize) -> Result<Parts<'a>, Refused> {
        if name == RAW || name == NUMBER {
            return Ok(Parts { writer: self, close: "", index: 0, key: String::new(), levels: 0, raw: true });
        }
        self.open("{", "}")
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        _: usize,
    ) -> Result<Parts<'a>, Refused> {
        self.variant(variant, "{", "}}")
    }
}

/// An array or an object that is being written.
struct Parts<'a> {
    writer: &'a mut Writer,
    close: &'static str,
    index: usize,
    key: String,
    levels: usize,
    raw: bool,
}

impl Parts<'_> {
    fn comma(&mut self) {
        if self.index > 0 {
            self.writer.out.push(',');
        }
        self.index += 1;
    }

    fn item<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        self.comma();
        let index = self.index - 1;
        value.serialize(&mut *self.writer).map_err(|refused| refused.within(&index.to_string()))
    }

    fn member<T: Serialize + ?Sized>(&mut self, key: &str, value: &T) -> Done {
        self.comma();
        push_text(&mut self.writer.out, key);
        self.writer.out.push(':');
        value.serialize(&mut *self.writer).map_err(|refused| refused.within(key))
    }

    fn finish(self) -> Done {
        self.writer.depth -= self.levels;
        self.writer.out.push_str(self.close);
        Ok(())
    }
}

macro_rules! as_items {
    ($($name:ident, $method:ident);*) => {
        $(impl ser::$name for Parts<'_> {
            type Ok = ();
            type Error = Refused;
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
                self.item(value)
            }
            fn end(self) -> Done {
                self.finish()
            }
        })*
    };
}

as_items!(SerializeSeq, serialize_element; SerializeTuple, serialize_element;
          SerializeTupleStruct, serialize_field; SerializeTupleVariant, serialize_field);

impl ser::SerializeMap for Parts<'_> {
    type Ok = ();
    type Error = Refused;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Done {
        self.key = key.serialize(Key)?;
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Done {
        let key = std::mem::take(&mut self.key);
        self.member(&key, value)
    }

    fn end(self) -> Done {
        self.finish()
    }
}

impl ser::SerializeStruct for Parts<'_> {
    type Ok = ();
    type Error = Refused;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Done {
        if !self.raw {
            return self.member(key, value);
        }
        let text = value.serialize(Key)?; // Of a RawValue or Number: serde_json has looked at it.
        let (deepest, mut open, mut inside, mut escaped) = (MAX_DEPTH - self.writer.depth, 0usize, false, false);
        for byte in text.bytes() {
            match byte {
                _ if escaped => escaped = false,
                b'\\' => escaped = inside,
                b'"' => inside = !inside,
                b'[' | b'{' if !inside => open += 1,
                b']' | b'}' if !inside => open -= 1,
                b'\n' | b'\r' => continue, // A frame has one line; the text of a RawValue may have more.
                _ => {}
            }
            if open > deepest {
                let message = format!("a value deeper than {MAX_DEPTH} levels");
                return Err(Refused { message, pointer: String::new(), deep: true });
            }
        }
        self.writer.out.extend(text.chars().filter(|&c| c != '\n' && c != '\r'));
        Ok(())
    }

    fn end(self) -> Done {
        self.finish()
    }
}

impl ser::SerializeStructVariant for Parts<'_> {
    type Ok = ();
    type Error = Refused;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, value: &T) -> Done {
        self.member(key, value)
    }

    fn end(self) -> Done {
        self.finish()
    }
}

/// Takes strings alone: what a key may be.
struct Key;

macro_rules! no_key {
    ($($method:ident: $type:ty),*) => {
        $(fn $method(self, _: $type) -> Result<String, Refused> {
            Err(not_a_key())
        })*
    };
}

fn not_a_key() -> Refused {
    Refused::new("a key that is no string")
}

impl ser::Serializer for Key {
    type Ok = String;
    type Error = Refused;
    type SerializeSeq = ser::Impossible<String, Refused>;
    type SerializeTuple = ser::Impossible<String, Refused>;
    type SerializeTupleStruct = ser::Impossible<String, Refused>;
    type SerializeTupleVariant = ser::Impossible<String, Refused>;
    type SerializeMap = ser::Impossible<String, Refused>;
    type SerializeStruct = ser::Impossible<String, Refused>;
    type SerializeStructVariant = ser::Impossible<String, Refused>;

    no_key! {
        serialize_bool: bool, serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64, serialize_f32: f32,
        serialize_f64: f64, serialize_bytes: &[u8], serialize_unit_struct: &'static str
    }

    fn serialize_str(self, value: &str) -> Result<String, Refused> {
        Ok(value.to_string())
    }

    fn serialize_char(self, value: char) -> Result<String, Refused> {
        Ok(value.to_string())
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<String, Refused> {
        Ok(variant.to_string())
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<String, Refused> {
        value.serialize(self)
    }

    fn serialize_none(self) -> Result<String, Refused> {
        Err(not_a_key())
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<String, Refused> {
        value.serialize(self)
    }

    fn serialize_unit(self) -> Result<String, Refused> {
        Err(not_a_key())
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<String, Refused> {
        Err(not_a_key())
    }

    fn serialize_seq(self, _: Option<usize>) -> Result<Self::SerializeSeq, Refused> {
        Err(not_a_key())
    }

    fn serialize_tuple(self, _: usize) -> Result<Self::SerializeTuple, Refused> {
        Err(not_a_key())
    }

    fn serialize_tuple_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeTupleStruct, Refused> {
        Err(not_a_key())
    }

    fn serialize_tuple_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, Refused> {
        Err(not_a_key())
    }

    fn serialize_map(self, _: Option<usize>) -> Result<Self::SerializeMap, Refused> {
        Err(not_a_key())
    }

    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Self::SerializeStruct, Refused> {
        Err(not_a_key())
    }

    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeStructVariant, Refused> {
        Err(not_a_key())
    }
}

// What is read.

/// A member that is there though it may be null.
fn present<'de, D: Deserializer<'de>>(reader: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(reader).map(Some)
}

#[derive(Deserialize)]
pub struct Frame<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    pub id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub method: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub error: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub struct Initialize<'a> {
    pub protocol: i64,
    #[serde(borrow, default)]
    pub capabilities: HashMap<String, &'a RawValue>,
    #[serde(borrow, default)]
    pub limits: HashMap<String, &'a RawValue>,
}

#[derive(Deserialize)]
pub struct Handle<'a> {
    pub call: i64,
    #[serde(rename = "fn")]
    pub function: String,
    #[serde(borrow)]
    pub event: &'a RawValue,
    #[serde(default)]
    pub seq: i64,
    #[serde(borrow, default, deserialize_with = "present")]
    pub window: Option<&'a RawValue>,
}

#[derive(Deserialize)]
pub struct Cancel {
    pub call: i64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub struct Window<'a> {
    #[serde(borrow)]
    pub now: Vec<&'a RawValue>,
    #[serde(borrow)]
    pub random: Vec<&'a RawValue>,
    #[serde(borrow)]
    pub respond: HashMap<String, Vec<&'a RawValue>>,
    pub produce: bool,
}

/// An answer to `respond`.
pub enum Answer {
    Value(String),
    Error(String),
    Produce,
    Unreadable,
}

pub fn answer(text: &str) -> Answer {
    #[derive(Deserialize)]
    struct Parts<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        value: Option<&'a RawValue>,
        #[serde(borrow, default, deserialize_with = "present")]
        error: Option<&'a RawValue>,
        #[serde(default)]
        produce: bool,
    }
    match borrowed::<Parts>(text) {
        Ok(Parts { value: Some(value), .. }) => Answer::Value(value.get().to_string()),
        Ok(Parts { error: Some(error), .. }) => Answer::Error(error.get().to_string()),
        Ok(Parts { produce: true, .. }) => Answer::Produce,
        _ => Answer::Unreadable,
    }
}

// What is written.

pub fn request(out: &mut String, id: u64, method: &str, call: i64, ask: i64, tail: &str) {
    push(
        out,
        format_args!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"{method}\",\"params\":{{\"call\":{call},\"ask\":{ask}{tail}}}}}\n"),
    );
}

pub fn notification(out: &mut String, method: &str, call: i64, tail: &str) {
    push(out, format_args!("{{\"jsonrpc\":\"2.0\",\"method\":\"{method}\",\"params\":{{\"call\":{call}{tail}}}}}\n"));
}

pub fn reply(id: &str, result: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n")
}

pub fn refusal(id: &str, code: i64, message: &str, data: &str) -> String {
    let mut text = String::new();
    push_text(&mut text, message);
    let data = if data.is_empty() { String::new() } else { format!(",\"data\":{data}") };
    format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"error\":{{\"code\":{code},\"message\":{text}{data}}}}}\n")
}

/// What `asked` says of a question; `tail` is its members, each with a comma in front.
pub fn item(method: &str, tail: &str) -> String {
    match tail.strip_prefix(',') {
        Some(params) => format!("{{\"m\":\"{method}\",\"p\":{{{params}}}}}"),
        None => format!("{{\"m\":\"{method}\"}}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{json, Value};
    use std::collections::BTreeMap;

    #[derive(Serialize)]
    enum Shape {
        Unit,
        One(i32),
        Two(i32, f32),
        Named { a: Option<u8> },
    }

    #[test]
    fn what_is_written_is_what_serde_json_writes() {
        let value = json!({"a": [1, -2.5, null, true, "é\u{2028}\n\u{1}\"\\<>&"], "b": {}, "c": [], "d": u64::MAX});
        let shapes = (Shape::Unit, Shape::One(1), Shape::Two(1, 0.1), Shape::Named { a: None }, 'x', ());
        assert_eq!(encode(&value).unwrap(), serde_json::to_string(&value).unwrap());
        assert_eq!(encode(&shapes).unwrap(), serde_json::to_string(&shapes).unwrap());
        assert_eq!(encode(&i128::MIN).unwrap(), i128::MIN.to_string());
    }

    #[test]
    fn every_float_comes_back() {
        for bits in (0..20_000u64).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15)) {
            let value = f64::from_bits(bits);
            if value.is_finite() {
                let text = encode(&value).unwrap();
                assert_eq!(decode::<f64>(&text).unwrap().to_bits(), value.to_bits(), "{text}");
                let any = decode::<Value>(&text).unwrap();
                assert_eq!(any.as_f64().unwrap(), value, "{text}");
            }
        }
        assert_eq!(encode(&[5e-324, 1e21, 1e-7, 4.0, 1e20]).unwrap(), "[5e-324,1e21,1e-7,4,100000000000000000000]");
    }

    #[test]
    fn what_json_cannot_carry_is_refused_with_its_place() {
        let cases: [(Result<String, Error>, &str); 4] = [
            (encode(&BTreeMap::from([("items", vec![1.0, f64::NAN])])), "NaN is no JSON number, at /items/1"),
            (encode(&BTreeMap::from([("a/b", f32::INFINITY)])), "inf is no JSON number, at /a~1b"),
            (encode(&BTreeMap::from([(1, 1)])), "a key that is no string"),
            (encode(&(1, Bytes)), "bytes; JSON has none: say how they are to be written (hex, base64), at /1"),
        ];
        for (result, expected) in cases {
            let error = result.unwrap_err();
            assert_eq!(error.to_string(), expected);
            assert_eq!(error.kind(), "NotJSON");
        }
    }

    struct Bytes;

    impl Serialize for Bytes {
        fn serialize<S: ser::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            serializer.serialize_bytes(b"x")
        }
    }

    #[test]
    fn a_value_may_be_a_thousand_levels_deep() {
        let deepest = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        let value: Value = decode(&deepest).unwrap();
        assert_eq!(encode(&value).unwrap(), deepest);
        assert_eq!(encode(&[&value]).unwrap_err().kind(), "LimitExceeded");
        let raw: Box<RawValue> = decode(&deepest).unwrap();
        assert_eq!(encode(&raw).unwrap(), deepest);
        assert_eq!(encode(&[&raw]).unwrap_err().kind(), "LimitExceeded");
    }

    #[test]
    fn a_raw_value_is_passed_on_as_it_is() {
        let text = "[9007199254740993,123456789012345678901234567890123456789012345,4.0,\"\\ud83d\"]";
        let raw: Box<RawValue> = decode(text).unwrap();
        assert_eq!(encode(&raw).unwrap(), text);
        let lines: Box<RawValue> = decode("{\"a\":\n[1,\r\n2]}").unwrap();
        assert_eq!(encode(&(&lines,)).unwrap(), "[{\"a\":[1,2]}]");
    }
}
