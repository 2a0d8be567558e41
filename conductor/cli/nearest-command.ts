import { editDistance } from '#shared/nearest-word.ts';

/** The command that was probably meant: at most two letters away, and not another word altogether. Pure. */
export function nearestCommand(args: readonly string[], commands: readonly string[]): string | undefined {
  const near = commands
    .map((words) => {
      const given = args.slice(0, words.split(' ').length).join(' ');
      return { words, distance: editDistance(given, words) };
    })
    .filter(({ words, distance }) => distance <= 2 && distance * 2 < words.length)
    .sort((a, b) => a.distance - b.distance);
  return near[0]?.words;
}
