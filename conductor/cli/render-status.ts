import { z } from 'zod';
import { adviceOn, describeForCli } from '#conductor/cli/cli-words.ts';
import { printable } from '#conductor/cli/fit-screen.ts';
import { isRemark, type Remark } from '#conductor/model/remark.ts';

const Message = z.object({
  message: z.string(),
  level: z.enum(['Error', 'Warning', 'Info']).optional(),
  documents: z.array(z.object({ schema: z.string(), name: z.string() })).default([]),
  path: z.string().nullish(),
  kind: z.string().optional(),
  name: z.string().optional(),
  error: z.boolean().default(false),
  causes: z.array(z.string()).default([]),
  summarized: z.boolean().default(false),
});
type Message = z.infer<typeof Message>;

/** What the API answers in place of a resource (airship.md §8). */
const Status = z.object({
  kind: z.literal('Status'),
  status: z.string(),
  message: z.string(),
  reason: z.string().default(''),
  details: z.object({ messageList: z.array(Message), remark: z.custom<Remark>(isRemark).optional() }),
});

const levels = ['Error', 'Warning', 'Info'] as const;
const mostLines = 200;

type DocumentName = Message['documents'][number];
/** Where a document is written, or `undefined`. */
export type FileOf = (document: DocumentName) => string | undefined;

/** A Status as people read it: its message, then a line for each fault. @returns `undefined` for anything else. */
export function renderStatus(answer: unknown, fileOf: FileOf = () => undefined): string | undefined {
  const parsed = Status.safeParse(answer);
  if (!parsed.success) return undefined;
  const { message, reason, details } = parsed.data;
  const { messageList, remark } = details;
  const advice = adviceOn({ reason, remark });
  const lines = [...renderFaults(messageList, fileOf), ...renderMessages(messageList, message)];
  return [remark ? describeForCli(remark) : message, ...lines, ...advice].join('\n');
}

/** What a teardown did and met: `  Error Pod web/x: …`, as it came; nothing is told twice. Pure. */
function renderMessages(messages: readonly Message[], message: string): string[] {
  const shown = messages.filter(
    (each) => !each.summarized && each.kind !== 'ValidationMessage' && each.message !== message,
  );
  const lines = shown.flatMap((each) => {
    const about = each.name !== undefined && !each.message.includes(each.name) ? `${nameOf(each)}: ` : '';
    const causes = each.causes.map((cause) => `    ${cause}`);
    return [`  ${each.error ? 'Error ' : ''}${about}${each.message}`, ...causes].map(printable);
  });
  return firstLines([...new Set(lines)]);
}

function nameOf({ kind, name = '' }: Message): string {
  return kind === undefined || ['SimpleMessage', 'HealthMessage'].includes(kind) ? name : `${kind} ${name}`;
}

function firstLines(lines: readonly string[]): string[] {
  if (lines.length <= mostLines) return [...lines];
  return [...lines.slice(0, mostLines), `  … and ${lines.length - mostLines} more`];
}

/** The same of the text of a refusal. */
export function renderRefusal(text: string): string | undefined {
  try {
    return renderStatus(JSON.parse(text));
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

/** `  Error drydock/BaremetalNode/v1/n1, data.oob.type: …`: errors first, then by document as they came. Pure. */
function renderFaults(messages: readonly Message[], fileOf: FileOf): string[] {
  const faults = messages.filter(({ kind }) => kind === 'ValidationMessage');
  const lines = levels.flatMap((level) => {
    const ofLevel = faults.filter((fault) => (fault.level ?? 'Error') === level);
    const byDocument = Map.groupBy(ofLevel, (fault) => placeOf(fault, fileOf));
    return [...byDocument].flatMap(([place, group]) => group.map((fault) => `  ${level} ${lineOf(place, fault)}`));
  });
  return firstLines(lines);
}

function placeOf({ documents: [document] }: Message, fileOf: FileOf): string {
  if (!document) return '';
  const file = fileOf(document);
  return `${document.schema}/${document.name}${file === undefined ? '' : ` (${file})`}`;
}

function lineOf(place: string, { path, message }: Message): string {
  const where = [place, path ?? ''].filter((part) => part !== '').join(', ');
  return where === '' ? message : `${where}: ${message}`;
}
