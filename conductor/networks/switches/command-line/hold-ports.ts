import type { DownAmidChange } from '#conductor/networks/switch-driver.ts';
import type { HoldRows, SwitchSnapshot } from '#conductor/networks/switches/command-line/switch-os.ts';

/**
 * Ports that a change takes down, as they would be in VLAN 1 amid it. The note in their description outlasts a conductor that
 * is lost meanwhile: anyone who finds it ends what was begun. Pure.
 */

const note = 'baton-shut';

interface Descriptions {
  /** Characters that one may have. */
  readonly longest: number;
  readonly isQuoted?: true;
}

export function holdRows(
  amid: HoldRows['amid'],
  { longest, isQuoted }: Descriptions,
  opens: (portIds: readonly string[]) => readonly string[],
): HoldRows {
  const each = (portIds: readonly string[], lines: readonly string[]): string[] =>
    opens(portIds).flatMap((open) => [open, ...lines, 'exit']);
  // a question mark asks for help, wherever it stands
  const isNoted = (description: string): boolean => /^[ -~]*$/.test(description) && !description.includes('?');
  // of a conductor that is lost, the end of a long description is, too
  const noted = (description: string): string => `${note} ${description}`.slice(0, longest).trim();
  const describe = (text: string): string => (isQuoted ? `description "${text}"` : `description ${text}`);
  return {
    amid,
    down: (portIds, description) =>
      each(portIds, [...(isNoted(description) ? [describe(noted(description))] : []), 'shutdown']),
    up: (portIds, description) =>
      each(portIds, [
        'no shutdown',
        ...(isNoted(description) ? [description === '' ? 'no description' : describe(description)] : []),
      ]),
  };
}

/** Reads a port's lines: its description without the note, and whether it has the note. */
export function describedIn(lines: readonly string[]): DownAmidChange {
  const said = /^description (.*)$/m.exec(lines.join('\n'))?.[1] ?? '';
  const isDown = said === note || said.startsWith(`${note} `);
  return { description: isDown ? said.slice(note.length + 1) : said, isDown };
}

/** After a change that failed: what was to be up at its end, whose note may be cut, or missing. */
export function leftDown(before: SwitchSnapshot, now: SwitchSnapshot): Map<string, DownAmidChange> {
  const were = [...(before.goDown ?? [])].map(
    ([name, { description }]) => [name, { description, isDown: now.goDown?.get(name)?.isDown ?? true }] as const,
  );
  return new Map([...(now.goDown ?? []), ...were]);
}

/** Ports that are in `isUp`, and those that were left down. */
export function portsGoingDown(
  sections: Iterable<readonly [portId: string, lines: readonly string[]]>,
  isUp: (portId: string, lines: readonly string[]) => boolean,
): Map<string, DownAmidChange> {
  const all = [...sections].map(([portId, lines]) => [portId, describedIn(lines), isUp(portId, lines)] as const);
  return new Map(all.flatMap(([portId, said, isIn]) => (said.isDown || isIn ? [[portId, said] as const] : [])));
}
