import type { Scope } from "#contract";

/** A number that the simulator delivers to, and that every numbering plan accepts. */
export const SAMPLE_RECIPIENT = "4915112345678";
export const SAMPLE_TEXT = "Hello from Posthorn";

type CurlOptions = { baseUrl: string; key: string; scopes: readonly Scope[] };

/** A first request with the new key: a send if its scopes allow, else a list. Runs as copied. */
export function curlFor({ baseUrl, key, scopes }: CurlOptions): string {
  if (!scopes.includes("messages:send")) {
    return `curl ${quote(`${baseUrl}/v1/messages`)} \\\n  -H ${quote(`X-API-Key: ${key}`)}`;
  }
  const fields = { recipient: SAMPLE_RECIPIENT, text: SAMPLE_TEXT };
  return sendCurl({ baseUrl, fields, keyHeader: quote(`X-API-Key: ${key}`) });
}

/** Quotes for a shell: single quotes keep everything literal. */
function quote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

type SendOptions = { baseUrl: string; fields: object; keyHeader: string };

function sendCurl({ baseUrl, fields, keyHeader }: SendOptions): string {
  return [
    `curl -X POST ${quote(`${baseUrl}/v1/messages`)} \\`,
    `  -H ${keyHeader} \\`,
    "  -H 'Content-Type: application/json' \\",
    `  -d ${quote(JSON.stringify(fields))}`,
  ].join("\n");
}

const LANGUAGES = ["cURL", "Node", "Python", "PHP", "Go"] as const;
export type Language = (typeof LANGUAGES)[number];

/** The same send in each language. The key comes from `POSTHORN_API_KEY`, so it is never shown. */
export function sendSamples(baseUrl: string, fields: object): Record<Language, string> {
  const url = `${baseUrl}/v1/messages`;
  return {
    cURL: sendCurl({ baseUrl, fields, keyHeader: '"X-API-Key: $POSTHORN_API_KEY"' }),
    Node: nodeSample(url, fields),
    Python: pythonSample(url, fields),
    PHP: phpSample(url, fields),
    Go: goSample(url, fields),
  };
}

function nodeSample(url: string, fields: object): string {
  return `const answer = await fetch(${JSON.stringify(url)}, {
  method: "POST",
  headers: {
    "X-API-Key": process.env.POSTHORN_API_KEY,
    "Content-Type": "application/json",
  },
  body: JSON.stringify(${JSON.stringify(fields, null, 2).replaceAll("\n", "\n  ")}),
});
console.log(answer.status, await answer.json());`;
}

function pythonSample(url: string, fields: object): string {
  return `import json, os, urllib.request

request = urllib.request.Request(
    ${JSON.stringify(url)},
    data=json.dumps(${pythonLiteral(fields)}).encode(),
    headers={
        "X-API-Key": os.environ["POSTHORN_API_KEY"],
        "Content-Type": "application/json",
    },
)
with urllib.request.urlopen(request) as answer:
    print(answer.status, json.load(answer))`;
}

/** JSON's strings and numbers are valid Python; null, true and false do not occur in a send. */
function pythonLiteral(fields: object): string {
  return JSON.stringify(fields, null, 4).replaceAll("\n", "\n    ");
}

function phpSample(url: string, fields: object): string {
  const entries = Object.entries(fields).map(
    ([name, value]) => `    ${phpString(name)} => ${phpValue(value)},`,
  );
  return `<?php
$body = json_encode([
${entries.join("\n")}
]);
$answer = file_get_contents(${phpString(url)}, false, stream_context_create(["http" => [
    "method" => "POST",
    "header" => "X-API-Key: " . getenv("POSTHORN_API_KEY") . "\\r\\nContent-Type: application/json",
    "content" => $body,
    "ignore_errors" => true,
]]));
echo $http_response_header[0], "\\n", $answer, "\\n";`;
}

function phpString(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

function phpValue(value: unknown): string {
  if (typeof value === "object") return `json_decode(${phpString(JSON.stringify(value))})`;
  return typeof value === "number" ? String(value) : phpString(String(value));
}

function goSample(url: string, fields: object): string {
  return `package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
)

func main() {
	body := strings.NewReader(${JSON.stringify(JSON.stringify(fields))})
	request, err := http.NewRequest("POST", ${JSON.stringify(url)}, body)
	if err != nil {
		panic(err)
	}
	request.Header.Set("X-API-Key", os.Getenv("POSTHORN_API_KEY"))
	request.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		panic(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	fmt.Println(answer.Status, string(text))
}`;
}
