import { type Html, html, nothing } from '#conductor/board/render/html.ts';
import { formatBytes } from '#conductor/cli/shell/format-units.ts';

/** Bytes a second that a step has reported, and when. */
export interface RateSample {
  readonly at: number;
  readonly rate: number;
}

const box = { width: 240, height: 36 } as const;

/** The rate of an image's write, from when the page was opened. Pure. */
export function drawRate(samples: readonly RateSample[]): Html {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.at === first.at) return nothing;
  const most = Math.max(1, ...samples.map(({ rate }) => rate));
  const points = samples.map(({ at, rate }) => {
    const x = (box.width * (at - first.at)) / (last.at - first.at);
    return `${x.toFixed(1)},${(box.height - 2 - ((box.height - 4) * rate) / most).toFixed(1)}`;
  });
  return html`<p class="rate"><svg aria-hidden="true" viewBox="0 0 ${box.width} ${box.height}" width="${box.width}" height="${box.height}"><polyline points="${points.join(' ')}"/></svg>
    <span>${formatBytes(last.rate)}/s now, ${formatBytes(most)}/s at most</span></p>`;
}
