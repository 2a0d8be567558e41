import { expect, test } from 'vitest';
import { z } from 'zod';
import { type FoundVlans, isIsolated } from '#conductor/model/port-vlans.ts';
import { type Read, readBy } from '#conductor/networks/switches/os/testing/read-recording.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { type Recording, readRecordings } from '#test/recorded/read-recordings.ts';

/** Property over all recordings: an answer that is empty, of another kind or cut takes no port out of its networks or its bond. */

// OVSDB's answers are checked where they come in
const recordings = (await readRecordings('switches', z.unknown())).filter(({ name }) => !name.startsWith('ovs/'));

const foreign = [
  'garbage line',
  '/* ACCESS-DENIED */',
  'warning: statement not found',
  "                      ^\n% Invalid input detected at '^' marker.",
  'Error: the request timed out',
  '{}',
  'null',
  '"try again"',
  '{"error": "try again"}',
  '<error>try again</error>',
];

const logged = '*Mar  1 00:01:02.003: %LINK-3-UPDOWN: Interface GigabitEthernet1/0/9, changed state to up';

function cut(text: string, share: number): string {
  return text.slice(0, Math.floor(text.length * share));
}

interface Spoilt {
  readonly texts: (text: string) => readonly string[];
  /** Whether two answers are spoilt at once, too: for one reason all of a switch's answers fail. */
  readonly byTwo?: true;
}

const spoilt: Readonly<Record<string, Spoilt>> = {
  'is empty': { texts: () => ['', '\n'], byTwo: true },
  'is of another kind': { texts: () => foreign, byTwo: true },
  'ends with a line of another kind': { texts: (text) => [`${text.trimEnd()}\ngarbage line\n`], byTwo: true },
  'has a message of the log amid': {
    texts: (text) => text.split('\n').map((_, count, lines) => lines.toSpliced(count, 0, logged).join('\n')),
  },
  'is cut at a line’s end': {
    texts: (text) => text.split('\n').map((_, count, lines) => `${lines.slice(0, count).join('\n')}\n`),
  },
  'is cut at a quarter, in the middle or at three quarters': {
    texts: (text) => [0.25, 0.5, 0.75].map((share) => cut(text, share)),
  },
};

function choicesOf({ outputs }: Recording<unknown>, byTwo: boolean): readonly (readonly string[])[] {
  const names = Object.keys(outputs);
  return names.flatMap((one, index) => [[one], ...(byTwo ? names.slice(index + 1).map((other) => [one, other]) : [])]);
}

/** Reads answers; nothing where they are refused in words, or no JSON or XML. */
function read(recording: Recording<unknown>): Read | undefined {
  try {
    return readBy(recording);
  } catch (error) {
    if (error instanceof AppError || error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** Lists what the one reading says and the other doesn't allow. */
function wrongIn(found: Read, right: Read): readonly string[] {
  const vlansOf = ({ snapshot }: Read, portId: string): FoundVlans => snapshot.ports.get(portId) ?? 'other';
  const isolated = [...found.snapshot.ports].flatMap(([portId, vlans]) =>
    isIsolated(vlans) && !isIsolated(vlansOf(right, portId)) ? `${portId} is isolated` : [],
  );
  const alone = [...right.members].flatMap(([portId, its]) => {
    const member = found.members.get(portId);
    if (!member) return vlansOf(found, portId) === 'other' ? [] : `${portId} is in no bond`;
    return JSON.stringify(member) === JSON.stringify(its) ? [] : `${portId} is in ${JSON.stringify(member)}`;
  });
  const named = [...found.names].flatMap(([said, portId]) =>
    right.names.get(said) === portId ? [] : `${said} means ${portId}`,
  );
  return [...isolated, ...alone, ...named];
}

test.each(Object.entries(spoilt))(
  'no port leaves its networks or its bond where an answer %s',
  (_, { texts, byTwo = false }) => {
    const tried = recordings.flatMap((recording) => {
      const right = readBy(recording);
      return choicesOf(recording, byTwo).flatMap((names) => {
        const variants = names.map((name) => texts(recording.outputs[name] ?? ''));
        return (variants[0] ?? []).map((__, index) => {
          const replaced = Object.fromEntries(names.map((name, at) => [name, variants[at]?.[index] ?? '']));
          const found = read({ ...recording, outputs: { ...recording.outputs, ...replaced } });
          return { recording: recording.name, replaced, wrong: found ? wrongIn(found, right) : [] };
        });
      });
    });
    expect(tried.length).toBeGreaterThanOrEqual(2 * recordings.length);
    expect(tried.filter(({ wrong }) => wrong.length > 0)).toEqual([]);
  },
);

test('the recordings have ports of each kind, and members of bonds', () => {
  const ports = recordings.flatMap((recording) => [...readBy(recording).snapshot.ports.values()]);
  expect(ports.filter((vlans) => vlans === 'other').length).toBeGreaterThanOrEqual(80);
  expect(ports.filter((vlans) => vlans !== 'other' && !isIsolated(vlans)).length).toBeGreaterThanOrEqual(80);
  expect(ports.filter(isIsolated).length).toBeGreaterThanOrEqual(40);
  expect(recordings.flatMap((recording) => [...readBy(recording).members]).length).toBeGreaterThanOrEqual(20);
});
