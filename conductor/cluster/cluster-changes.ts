import { z } from 'zod';
import { isRemark, type Remark } from '#conductor/model/remarks/remark.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * A change that a round makes in a cluster and can't find again by looking: once it is done, nothing there shows that
 * it was otherwise.
 */
export interface ClusterChange {
  readonly kind:
    | 'cordon'
    | 'label'
    | 'pod'
    | 'etcd leader'
    | 'etcd member'
    /** The label that has its kubelet stopped. */
    | 'kubelet'
    /** The cluster's object of the node. */
    | 'node';
  /** The node's, label's, pod's or member's name. */
  readonly name: string;
  /** The value that a label had, a member's peer URLs: what somebody needs who brings it back. */
  readonly value?: string | undefined;
  /** The etcd cluster. */
  readonly of?: string | undefined;
  /** One sentence, as of its being done. */
  readonly message: string;
  readonly remark?: Remark | undefined;
}

/** A change that was announced, and was refused, or nothing says whether it came about. */
export interface Unsettled {
  readonly change: ClusterChange;
  readonly isRefused: boolean;
}

/** The outcome of changes according to the answer to their request. */
export type ChangeOutcome = 'done' | 'refused';

/**
 * Called with changes right before they are made, so that they are known after a crash, and again with what came
 * of them, where an answer says so.
 */
export type Announce = (deeds: readonly ClusterChange[], outcome?: ChangeOutcome) => Promise<void>;

/** Makes changes that are announced, by one request. @throws what `make` and `announce` throw */
export async function makeChanges<Answer>(
  announce: Announce | undefined,
  changes: readonly ClusterChange[],
  make: () => Promise<Answer>,
): Promise<Answer> {
  await announce?.(changes);
  const answer = await make().catch(async (error: unknown) => {
    if (isRefusal(error)) await announce?.(changes, 'refused');
    throw error;
  });
  await announce?.(changes, 'done');
  return answer;
}

/** Checks whether a request was refused; after any other failure nothing says whether the change came about. */
function isRefusal(error: unknown): boolean {
  const status = error instanceof AppError ? Number(error.details['status']) : 0;
  return status >= 400 && status < 500;
}

/** Reports of earlier releases have none: their messages are shown, and nothing is decided by them. */
const KeptRemark = z.custom<Remark>(isRemark).optional();

const RecordedChange = z.object({
  kind: z.enum(['cordon', 'label', 'pod', 'etcd leader', 'etcd member', 'kubelet', 'node']),
  name: z.string(),
  value: z.string().optional(),
  of: z.string().optional(),
  message: z.string(),
  remark: KeptRemark,
  /** False: it was announced, and nobody has looked since; a conductor may have died before it. */
  sure: z.boolean(),
});
export type RecordedChange = z.output<typeof RecordedChange>;

const KeptMessage = z.object({
  message: z.string(),
  remark: KeptRemark,
  error: z.boolean(),
  name: z.string().optional(),
  kind: z.string().optional(),
});
type KeptMessage = z.output<typeof KeptMessage>;

/** Output of a `cluster` step, also of one that is under way or has failed. */
const ClusterReport = z.object({
  deeds: z.array(RecordedChange),
  /** Messages of the last look. */
  messages: z.array(KeptMessage),
  /** ISO 8601: since then the cluster has let nobody in. */
  refusedSince: z.string().optional(),
});
export type ClusterReport = z.output<typeof ClusterReport>;

/** Reads the report in a step's output; of a step that has not looked yet an empty one. Pure. */
export function readReport(output: unknown): ClusterReport {
  const parsed = ClusterReport.safeParse(output);
  return parsed.success ? parsed.data : { deeds: [], messages: [] };
}

/** Adds to a report changes that are about to be made, or their outcome; one that is known already is no news. Pure. */
export function withRecordedChanges(
  report: ClusterReport,
  deeds: readonly ClusterChange[],
  outcome?: ChangeOutcome,
): ClusterReport {
  if (outcome !== undefined) return withOutcome(report, deeds, outcome);
  const known = new Set(report.deeds.map(keyOf));
  const news = deeds.filter((change) => !known.has(keyOf(change)));
  return news.length === 0
    ? report
    : { ...report, deeds: [...report.deeds, ...news.map((change) => ({ ...change, sure: false }))] };
}

/** Strikes out what was refused, unless an earlier request had done it. */
function withOutcome(report: ClusterReport, changes: readonly ClusterChange[], outcome: ChangeOutcome): ClusterReport {
  const about = new Set(changes.map(keyOf));
  const deeds = report.deeds.flatMap((change) => {
    if (change.sure || !about.has(keyOf(change))) return [change];
    return outcome === 'done' ? [{ ...change, sure: true }] : [];
  });
  return { ...report, deeds };
}

/**
 * Makes the report after a look that has ended: announced changes are made, except those that the look has left unsettled.
 * Pure.
 */
export function afterLook(
  report: ClusterReport,
  {
    messages,
    unsettled = [],
  }: { readonly messages: readonly KeptMessage[]; readonly unsettled?: readonly Unsettled[] },
): ClusterReport {
  const open = new Map(unsettled.map((each) => [keyOf(each.change), each]));
  const deeds = report.deeds.flatMap((change) => {
    const left = change.sure ? undefined : open.get(keyOf(change));
    return left?.isRefused === true ? [] : [{ ...change, sure: left === undefined }];
  });
  return { deeds, messages: [...messages] };
}

/** Computes the key of one change, the same whenever it is reported. */
export function keyOf({ kind, name, value, of }: Pick<ClusterChange, 'kind' | 'name' | 'value' | 'of'>): string {
  return JSON.stringify([kind, name, value, of]);
}

/** Describes a change as a sentence. Pure. */
export function describeClusterChange({ message, sure }: RecordedChange): string {
  return sure ? message : `${message}: this was started, and its result is unknown`;
}
