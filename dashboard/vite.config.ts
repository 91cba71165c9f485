import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

/** What every page needs, in one file. Own modules stay out: cut off from what they import, they break. */
const LIBRARIES =
  /node_modules\/(?:react|react-dom|scheduler|use-sync-external-store|@tanstack\/(?:query-core|react-query|router-core|react-router|history|store|react-store)|@floating-ui\/(?:react|react-dom|core|dom|utils))\/|createReactComponent|\/use-(?:merged-ref|disclosure)\/|\/DirectionProvider\//;

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  plugins: [react()],
  build: {
    target: "es2023",
    // A small font as data: would be against the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // A style that could not be fetched with its page would not be asked for again.
    cssCodeSplit: false,
    chunkSizeWarningLimit: 1_000,
    reportCompressedSize: false,
    // Tells the test of sizes which files a page loads.
    manifest: "manifest.json",
    rolldownOptions: {
      output: {
        codeSplitting: { groups: [{ name: "libraries", test: LIBRARIES }] },
      },
    },
  },
});
