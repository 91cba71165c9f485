import { useRouter, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import type { NewMessage } from "#contract";
import { countSegments, MAX_SEGMENTS } from "#contract/segments";
import { checkPresent } from "../../fields.ts";
import type { Zone } from "../../format.ts";
import { fromWall } from "../../range.ts";
import { present } from "../../search.ts";
import { useAccount } from "../../session.ts";
import { composeText as text } from "../../text/compose.ts";
import type { Fields } from "../../ui/use-fields.ts";
import { useZone } from "../../ui/zone.tsx";
import { useDraftFields } from "../../use-draft-fields.ts";
import { useRead } from "../../use-read.ts";
import { fieldsOf } from "../message/fields-of.ts";

type Values = {
  recipient: string;
  text: string;
  sender: string;
  sendAt: string;
  callbackUrl: string;
  reference: string;
  /** Taken over from a message that is sent again. */
  metadata: Record<string, string> | null;
};

const EMPTY: Values = {
  recipient: "",
  text: "",
  sender: "",
  sendAt: "",
  callbackUrl: "",
  reference: "",
  metadata: null,
};

export const MORE = ["sendAt", "callbackUrl", "reference"] as const;
export const SHOWN = ["recipient", "text", "sender", ...MORE];

/** The form's fields, kept as a draft for this tab, and their message once it can be priced. */
export function useComposeFields() {
  const zone = useZone();
  const checks = {
    recipient: checkPresent(text.recipientNeeded),
    text: checkText,
    sendAt: (value: string) => checkTime(value, zone, fields.getInputNode("sendAt")),
  };
  const draft = useDraftFields<Values>("compose", EMPTY, checks, SHOWN);
  const fields: Fields<Values> = draft.fields;
  const { values } = fields;
  const recipient = digitsOf(values.recipient);
  const isPriceable = recipient !== "" && checkText(values.text) === null;
  const message = isPriceable ? toMessage(values, zone) : undefined;
  return { fields, recipient, message, forget: draft.forget };
}

export type ComposeFields = ReturnType<typeof useComposeFields>;

export function checkText(value: string): string | null {
  if (value.trim() === "") return text.textNeeded;
  const { segments } = countSegments(value);
  return segments > MAX_SEGMENTS ? text.tooLong(segments) : null;
}

/** A half-typed time reads as an empty field, which would mean now: only the input knows better. */
function checkTime(value: string, zone: Zone, input: HTMLInputElement | null): string | null {
  const isWhole = value === "" ? !input?.validity.badInput : fromWall(value, zone) !== undefined;
  return isWhole ? null : text.sendAtWrong;
}

/** Accepts a number as people write it, dropping characters that only help reading. */
function digitsOf(recipient: string): string {
  return recipient.replaceAll(/[\s().-]/g, "");
}

/** Omits empty fields. A wall clock time is in the page's zone. */
function toMessage(values: Values, zone: Zone): NewMessage {
  const { recipient, text: content, sendAt, metadata, ...others } = values;
  const given = Object.entries(others).filter(([, value]) => value.trim() !== "");
  return {
    recipient: digitsOf(recipient),
    text: content,
    ...Object.fromEntries(given.map(([name, value]) => [name, value.trim()])),
    ...present({ metadata: metadata ?? undefined, sendAt: fromWall(sendAt, zone) }),
  };
}

/** "Send again" fills the form from that message once; from then on the draft keeps it. */
export function useFillFrom({ fields }: ComposeFields): void {
  const { accountId } = useAccount();
  const { again } = useSearch({ from: "/signed-in/compose" });
  const before = useRead(
    "GET /console/accounts/{accountId}/messages/{messageId}",
    { params: { accountId, messageId: again ?? "" } },
    { isOn: again !== undefined },
  );
  const router = useRouter();
  useEffect(() => {
    // A page that is being left stays mounted until the next one has loaded.
    if (!before.data || router.latestLocation.pathname !== "/compose") return;
    fields.setValues({ ...EMPTY, ...fieldsOf(before.data) });
    void router.navigate({ to: "/compose", search: {}, replace: true });
  }, [before.data]);
}
