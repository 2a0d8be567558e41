import { RenderError } from '#conductor/sites/rendering/render-error.ts';

const most = { values: 200_000, characters: 4 * 1024 ** 2, depth: 64 };

/**
 * Refuses what a few substitutions of substitutions have made too large to be kept or shown; an uploaded document has the
 * same limit of values and depth. @throws RenderError `TooLarge`
 */
export function measureValue(root: unknown): void {
  const seen = { values: 0, characters: 0 };
  const look = (value: unknown, depth: number): void => {
    seen.values += 1;
    if (typeof value === 'string') seen.characters += value.length;
    if (seen.values > most.values || seen.characters > most.characters || depth > most.depth) {
      throw new RenderError('TooLarge', 'it has too many values, too much text, or is nested too deep');
    }
    if (typeof value !== 'object' || value === null) return;
    for (const each of Object.values(value)) look(each, depth + 1);
  };
  look(root, 0);
}
