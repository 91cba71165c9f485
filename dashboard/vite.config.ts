import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

/** What lists are narrowed by and leafed through with, and all that it is made of. */
const FILTERS =
  /dashboard\/(?:use-live-rows|ui\/(?:choice-chips|csv-button|filter-bar|filter-pills|new-rows|pager|range-picker|typed-filter|use-bounds|use-cursor-fallback|use-is-another))\./;

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
        // Left to itself the bundler makes a file of every set of modules that some pages share: a page
        // was 75 requests.
        codeSplitting: {
          groups: [
            // Apart from our own code: it stays in the browser's cache over an upgrade of ours.
            { name: "libraries", test: /node_modules/, tags: ["$initial"], priority: 2 },
            { name: "start", tags: ["$initial"], priority: 1 },
            { name: "filters", test: FILTERS },
          ],
        },
      },
    },
  },
});
