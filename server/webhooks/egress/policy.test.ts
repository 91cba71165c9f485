import assert from "node:assert/strict";
import { test } from "node:test";
import { judgeUrl } from "./judge-url.ts";
import { servicePolicy } from "./policy.ts";

const silent = { metricsListen: undefined, webhookAllowCidrs: undefined };
const settings = {
  ...silent,
  port: 8080,
  webhookAllowHttp: undefined,
  webhookShowPrivateAnswers: undefined,
};
const url = "postgres://posthorn:secret@127.0.0.1:54321/posthorn";

function isAllowed(raw: string, service: Parameters<typeof servicePolicy>[0]): boolean {
  return judgeUrl(raw, servicePolicy(service)).allowed;
}

test("the ports of the API, of the metrics and of every host of the database are never called", () => {
  const several = "postgres://posthorn:secret@10.0.0.1:54321,10.0.0.2/posthorn";
  const service = {
    settings: { ...settings, metricsListen: { port: 9464 }, webhookAllowCidrs: ["127.0.0.0/8"] },
    url: several,
    isEmbedded: true,
  };

  for (const port of [8080, 9464, 54321, 5432])
    assert.equal(isAllowed(`http://127.0.0.1:${port}/`, service), false, String(port));
  assert.equal(isAllowed("http://127.0.0.1:3000/", service), true);
});

test("loopback and plain http are allowed with an embedded database, unless settings say otherwise", () => {
  const http = "http://127.0.0.1:3000/";

  assert.equal(isAllowed(http, { settings, url, isEmbedded: true }), true);
  assert.equal(isAllowed(http, { settings, url, isEmbedded: false }), false);
  assert.equal(isAllowed("https://[::1]:3000/", { settings, url, isEmbedded: false }), false);
  const closed = { ...settings, webhookAllowCidrs: [], webhookAllowHttp: false };
  assert.equal(isAllowed(http, { settings: closed, url, isEmbedded: true }), false);
});

test("answers from private addresses are shown with an embedded database, unless settings say otherwise", () => {
  const isShown = (isEmbedded: boolean, webhookShowPrivateAnswers?: boolean) => {
    const service = { settings: { ...settings, webhookShowPrivateAnswers }, url, isEmbedded };
    return servicePolicy(service).showPrivateAnswers;
  };

  assert.deepEqual([isShown(true), isShown(true, false)], [true, false]);
  assert.deepEqual([isShown(false), isShown(false, true)], [false, true]);
});
