import { z } from 'zod';
import { adviceOn, describeForCli } from '#conductor/cli/shell/print.ts';
import { printable } from '#conductor/cli/shell/screen.ts';
import { isRemark, type Remark } from '#conductor/model/remarks/remark.ts';
import { AppError, type ErrorCode } from '#shared/errors/app-error.ts';

const Inner = z.object({
  faultstring: z.string().optional(),
  description: z.string().optional(),
  error_code: z.literal('node_locked').optional().catch(undefined),
});
type Inner = z.infer<typeof Inner>;
const Outer = z.object({ error_message: z.union([z.string(), Inner]) });

const StatusFault = z.object({
  kind: z.literal('Status'),
  message: z.string(),
  details: z.object({ cause: z.string().optional() }).default({}),
});

export interface Fault {
  readonly message: string | undefined;
  /** Code in Baton's form of Ironic's error bodies: of the conflicts the one that passes by itself. */
  readonly code?: 'node_locked' | undefined;
  /** Cause in a Status object: `NoKubernetesCluster`, `TimeUp`. */
  readonly cause?: string | undefined;
}

/** A Status object, which a site's API answers, or else Ironic's error body. */
export function readFault(body: string): Fault {
  const status = StatusFault.safeParse(parseJson(body));
  if (status.success) return { message: status.data.message, cause: status.data.details.cause };
  const inner = readIronicFault(body);
  return { message: inner?.faultstring ?? inner?.description, code: inner?.error_code };
}

/**
 * Reads what an Ironic error body has within: a JSON document inside a JSON document, `{"error_message":
 * "{\"faultstring\": …}"}`, or the object itself. `undefined` for anything else.
 */
function readIronicFault(body: string): Inner | undefined {
  const outer = Outer.safeParse(parseJson(body));
  if (!outer.success) return undefined;
  const { error_message: message } = outer.data;
  return typeof message === 'string' ? Inner.safeParse(parseJson(message)).data : message;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

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

/** The API's answer in place of a resource (airship.md §8). */
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

/** Renders what a teardown did and met: `  Error Pod web/x: …`, as it came; nothing is shown twice. Pure. */
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
function renderRefusal(text: string): string | undefined {
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

const codes: Readonly<Partial<Record<number, ErrorCode>>> = {
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  406: 'not_acceptable',
  409: 'conflict',
  // a proxy without a conductor behind it, one that can't just now, and one that has given up waiting
  502: 'unavailable',
  503: 'unavailable',
  504: 'unavailable',
};

function credentialAdvice(authorization: string | undefined): string {
  if (authorization === undefined) {
    return 'it asks who you are: set BATON_TOKEN or BATON_TOKEN_FILE, or BATON_USERNAME and BATON_PASSWORD';
  }
  if (!authorization.startsWith('Bearer ')) return 'it does not know this user and password';
  return 'it does not know this token: that of BATON_TOKEN, which wins over BATON_TOKEN_FILE';
}

/** Makes the error of what the conductor has answered in place of what was asked for, in its own words. */
export function refusalError(
  status: number,
  text: string,
  { authorization }: { readonly authorization: string | undefined },
): AppError {
  const fault = readFault(text);
  const words = renderRefusal(text) ?? fault.message ?? `${status}: ${text}`;
  const message = status === 401 ? `${words}\n→ ${credentialAdvice(authorization)}` : words;
  const code = fault.code ?? codes[status] ?? (status >= 500 ? 'command_failed' : 'invalid_argument');
  // anyone who watches looks once more, also at what a crash has answered
  return new AppError(code, message, { retryable: status >= 500, details: { status, cause: fault.cause } });
}
