import { createTheme, type CSSVariablesResolver } from "@mantine/core";
import type { Status } from "#contract";

/** Mantine's close buttons have no name, and its dialog headers would be extra banners. */
const dialogProps = {
  closeButtonProps: { "aria-label": "Close" },
  attributes: { header: { role: "none" } },
  styles: { title: { fontWeight: 650, lineHeight: 1.35 } },
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
      defaultProps: { closeButtonProps: { "aria-label": "Dismiss" }, withBorder: true },
      styles: { description: { color: "var(--mantine-color-dimmed)" } },
    },
    // Inside a landmark: screen readers may miss what is outside of all landmarks.
    Tooltip: { defaultProps: { portalProps: { target: "#main" } } },
    Alert: { styles: { label: { color: "var(--mantine-color-text)" } } },
    Badge: {
      defaultProps: { tt: "none", fw: 550 },
      styles: { root: { letterSpacing: 0 }, label: { overflow: "visible" } },
    },
  },
});

/**
 * Mantine's dimmed, error and placeholder colours are too pale to read. In dark mode, its text is
 * as grey as dimmed text, and a grey dot as dark as its background.
 */
export const resolver: CSSVariablesResolver = ({ colors }) => ({
  variables: {},
  light: {
    "--posthorn-pill": colors.gray[1],
    "--posthorn-field-border": colors.gray[6],
    "--mantine-color-dimmed": colors.gray[7],
    "--mantine-color-error": colors.red[8],
    "--mantine-color-placeholder": colors.gray[6],
    "--mantine-color-gray-outline": colors.gray[5],
  },
  dark: {
    "--posthorn-pill": colors.dark[5],
    "--posthorn-field-border": colors.dark[2],
    "--mantine-color-text": colors.gray[2],
    "--mantine-color-gray-filled": colors.gray[5],
    "--mantine-color-gray-outline": colors.dark[2],
    "--mantine-color-indigo-light-color": colors.indigo[3],
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
