import { qrCode } from "./qr.ts";

/** The light margin around the code, in modules; readers need it to find the code. */
const QUIET = 4;
const WIDTH = 180;

/** Always dark on light, even on a dark page: many readers need that. */
export function QrImage({ text, label }: { text: string; label: string }) {
  const grid = qrCode(text);
  const size = grid.length + 2 * QUIET;
  const path = grid
    .flatMap((row, y) =>
      row.flatMap((isDark, x) => (isDark ? [`M${x + QUIET} ${y + QUIET}h1v1h-1z`] : [])),
    )
    .join("");
  return (
    <svg role="img" aria-label={label} width={WIDTH} height={WIDTH} viewBox={`0 0 ${size} ${size}`}>
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}
