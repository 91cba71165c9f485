import { createTheme, type CSSVariablesResolver } from "@mantine/core";
import type { Status } from "#contract";

/** Mantine's own close buttons have no name, and its dialog headers would be second banners. */
const dialogProps = {
  closeButtonProps: { "aria-label": "Close" },
  attributes: { header: { role: "none" } },
  styles: { title: { fontWeight: 650 } },
} as const;

export const theme = createTheme({
  fontFamily: "'Inter Variable', system-ui, sans-serif",
  fontFamilyMonospace: "'JetBrains Mono Variable', ui-monospace, monospace",
  primaryColor: "indigo",
  primaryShade: { light: 7, dark: 7 },
  defaultRadius: "md",
  respectReducedMotion: true,
  headings: { fontWeight: "650" },
  // Plain objects: with `Modal.extend` every page would load the modal.
  components: {
    Modal: { defaultProps: dialogProps },
    Drawer: { defaultProps: dialogProps },
    Notification: {
      defaultProps: { closeButtonProps: { "aria-label": "Dismiss" } },
      styles: { description: { color: "var(--mantine-color-dimmed)" } },
    },
    // Inside the landmark: what is outside of all of them, screen readers may miss.
    Tooltip: { defaultProps: { portalProps: { target: "#main" } } },
    Alert: { styles: { label: { color: "var(--mantine-color-text)" } } },
    Badge: {
      defaultProps: { tt: "none", fw: 550 },
      styles: { label: { overflow: "visible" } },
    },
  },
});

/** Mantine's dimmed, error and placeholder colours are too pale to read. */
export const resolver: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    "--mantine-color-dimmed": colors.gray[7],
    "--mantine-color-error": colors.red[8],
    "--mantine-color-placeholder": colors.gray[6],
  },
  dark: {
    "--mantine-color-dimmed": colors.dark[1],
    "--mantine-color-error": colors.red[4],
    "--mantine-color-placeholder": colors.dark[2],
  },
});

export const STATUS_COLOR = {
  QUEUED: "gray",
  SENT: "blue",
  DELIVERED: "teal",
  UNDELIVERED: "orange",
  FAILED: "red",
} as const satisfies Record<Status, string>;
