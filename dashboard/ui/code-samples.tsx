import { Code, Group, Stack, Tabs } from "@mantine/core";
import { type ReactNode, useState } from "react";
import { CopyButton } from "./copy-button.tsx";
import classes from "./code-samples.module.css";

type Props = {
  label: string;
  samples: Record<string, string>;
  copyLabel: (language: string) => string;
  /** Shown beside the copy button. */
  children?: ReactNode;
};

/** One request in several languages, ready to copy. */
export function CodeSamples({ label, samples, copyLabel, children }: Props) {
  const languages = Object.keys(samples);
  const [chosen, setChosen] = useState<string | null>(languages[0] ?? null);
  return (
    <Tabs value={chosen} onChange={setChosen} keepMounted={false}>
      <Tabs.List aria-label={label}>
        {languages.map((language) => (
          <Tabs.Tab key={language} value={language} px={10}>
            {language}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {languages.map((language) => (
        <Tabs.Panel key={language} value={language} pt="sm">
          <Stack gap="xs">
            <Code block className={classes["code"]} tabIndex={0} translate="no">
              {samples[language]}
            </Code>
            <Group>
              <CopyButton text={samples[language] ?? ""} label={copyLabel(language)} />
              {children}
            </Group>
          </Stack>
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
