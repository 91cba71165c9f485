import { ActionIcon, Button, type ButtonProps, Tooltip, VisuallyHidden } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import { useEffect, useState } from "react";
import { words } from "../text/words.ts";
import { copyText } from "./copy.ts";

type Outcome = "idle" | "copied" | "failed";

type CopyState = { outcome: Outcome; copy: () => void };

/** How long a copy button shows that it worked. */
const SHOWN_MS = 2_000;

type Options = {
  text: string;
  onCopied?: (() => void) | undefined;
  /** Selects the text if the browser refuses to copy, so that the keyboard can do it. */
  select?: () => void;
};

export function useCopy({ text, onCopied, select }: Options): CopyState {
  const [outcome, setOutcome] = useState<Outcome>("idle");
  useEffect(() => {
    if (outcome !== "copied") return;
    const timer = setTimeout(() => setOutcome("idle"), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [outcome]);
  async function run(): Promise<void> {
    const worked = await copyText(text);
    setOutcome(worked ? "copied" : "failed");
    if (worked) onCopied?.();
    else select?.();
  }
  return { outcome, copy: () => void run() };
}

export const SPOKEN: Record<Outcome, string> = {
  idle: "",
  copied: words.copied,
  failed: words.copyByHand,
};

type Props = Options & { label: string; autoFocus?: boolean } & Omit<ButtonProps, "leftSection">;

export function CopyButton({ text, onCopied, select, label, ...props }: Props) {
  const { outcome, copy } = useCopy({ text, onCopied, select });
  const Icon = outcome === "copied" ? IconCheck : IconCopy;
  return (
    <>
      <Button
        variant="default"
        leftSection={<Icon size={16} aria-hidden />}
        data-autofocus={props.autoFocus}
        {...props}
        onClick={copy}
      >
        {SPOKEN[outcome] || label}
      </Button>
      <Announcement outcome={outcome} />
    </>
  );
}

/** The same as an icon, for ids in text and tables. `label` says what is copied. */
export function CopyIcon({ text, label }: { text: string; label: string }) {
  const { outcome, copy } = useCopy({ text });
  const Icon = outcome === "copied" ? IconCheck : IconCopy;
  return (
    <Tooltip label={SPOKEN[outcome] || label} events={{ hover: true, focus: true, touch: false }}>
      <ActionIcon
        variant="subtle"
        color="gray"
        size={24}
        aria-label={label}
        onClick={(event) => {
          event.stopPropagation();
          copy();
        }}
      >
        <Icon size={14} aria-hidden />
        <Announcement outcome={outcome} />
      </ActionIcon>
    </Tooltip>
  );
}

export function Announcement({ outcome }: { outcome: Outcome }) {
  return (
    <VisuallyHidden component="span" role="status">
      {SPOKEN[outcome]}
    </VisuallyHidden>
  );
}
