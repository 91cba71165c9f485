import assert from "node:assert/strict";
import { findMessage, type MessageRow, type MoveListener } from "#messages";
import { type Database, sql } from "#platform";
import type { TestApi } from "./api.ts";

/** For a node on which nothing listens to status changes. */
export const unheard: MoveListener = { webhooks: undefined, moved() {} };

/** A message that waits to be sent. */
export async function queuedMessage(api: TestApi, fields: object = {}): Promise<MessageRow> {
  const answer = await api.send({ recipient: "4915112345678", text: "Hello", ...fields });
  return readMessage(api, answer.json<{ messageId: string }>().messageId);
}

/** A message leased by this node, with epoch 1. */
export async function heldMessage(
  api: TestApi,
  nodeId: string,
  fields: object = {},
): Promise<MessageRow> {
  const message = await queuedMessage(api, fields);
  await lease(api.db, nodeId, message.message_id);
  return message;
}

/** Leases the message to this node, as if for the first time. */
export async function lease(db: Database, nodeId: string, messageId: string): Promise<void> {
  await db.query(sql`
    update send_queue
       set leased_by = ${nodeId}, lease_epoch = 1, attempt = 1, due_at = clock_timestamp() + interval '30 s'
     where message_id = ${messageId}`);
}

export async function readMessage(
  { db, accountId }: TestApi,
  messageId: string,
): Promise<MessageRow> {
  const found = await findMessage(db, accountId, messageId);
  return found ?? assert.fail("the message is not there");
}
