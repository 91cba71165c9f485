import react from "@vitejs/plugin-react";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";

/** The controls of lists, for filtering and paging, with everything they consist of. */
const FILTERS =
  /dashboard\/(?:use-live-rows|ui\/(?:choice-chips|csv-button|filter-bar|filter-pills|new-rows|pager|range-picker|typed-filter|use-bounds|use-cursor-fallback|use-is-another))\./;

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  plugins: [react()],
  build: {
    target: "es2023",
    // A small font inlined as data would violate the content security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // A stylesheet that failed to load with its page would not be requested again.
    cssCodeSplit: false,
    chunkSizeWarningLimit: 1_000,
    reportCompressedSize: false,
    // Tells the sizes test which files a page loads.
    manifest: "manifest.json",
    rolldownOptions: {
      output: {
        // By default the bundler makes a file of every set of modules that some pages share: one
        // page took 75 requests.
        codeSplitting: {
          groups: [
            // Separate from our code, so that browsers keep it cached across our upgrades.
            { name: "libraries", test: /node_modules/, tags: ["$initial"], priority: 2 },
            { name: "start", tags: ["$initial"], priority: 1 },
            { name: "filters", test: FILTERS },
          ],
        },
      },
    },
  },
});
