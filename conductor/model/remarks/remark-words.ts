import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import type { ProvisionState } from '#conductor/model/provision-states.ts';
import { describeDifferences } from '#conductor/model/remarks/outdated.ts';
import type { Remark } from '#conductor/model/remarks/remark.ts';
import { AppError, type ErrorCode } from '#shared/errors/app-error.ts';
import { nameSome } from '#shared/words.ts';

export interface FlowAtWork {
  readonly flow: FlowKindName;
  readonly held?: string | undefined;
  readonly onHold?: string | undefined;
  /** `deploy.write_image`, or a task of a plugin. */
  readonly step?: string | undefined;
  readonly plugin?: string | undefined;
  readonly version?: string | undefined;
  readonly task?: string | undefined;
  readonly percent?: number | undefined;
  readonly phase?: string | undefined;
  readonly waitingFor?: string | undefined;
}

function describeWork({ flow, held, onHold, ...at }: FlowAtWork): string {
  const work = flowKinds[flow].doing;
  if (held !== undefined) return `${work}: held, ${held}`;
  if (onHold !== undefined) return `${work}: on hold for ${onHold}`;
  if (at.step === undefined) return work;
  const step = at.plugin === undefined ? at.step : `plugin ${at.plugin} ${at.version ?? ''}, task ${at.task ?? ''}`;
  if (at.percent !== undefined) return `${work}: ${step}, ${at.percent} %`;
  const more = at.phase ?? (at.waitingFor === undefined ? undefined : `waiting for ${at.waitingFor}`);
  return `${work}: ${[step, ...(more === undefined ? [] : [more])].join(', ')}`;
}

interface State {
  readonly state: ProvisionState;
}
interface Reason {
  readonly reason: string | null;
}
/** Something that is being done, or was to be. */
interface Doing {
  readonly doing: Remark;
}

interface Nodes {
  readonly nodes: readonly string[];
}
interface Canaries extends Nodes {
  readonly seconds: number;
}
interface Gate {
  readonly gate: string;
}
interface GateAnswer {
  /** Time in ISO 8601. */
  readonly since: string;
  /** Words of an answer: `HTTP 503`. */
  readonly said: string;
}

/** Words for what is asked for, which differ by where it is typed. */
export interface Dialect {
  readonly bufferMode: (mode: 'append' | 'replace') => string;
  readonly intermediateCommits: string;
  readonly diffSinceAction: string;
  readonly removeCollection: string;
  /** Faults that a sentence ends with, where they don't stand below it. */
  readonly faults: (faults: readonly string[]) => string;
}

/** Words for those who send requests. */
const apiDialect: Dialect = {
  bufferMode: (mode) => `buffermode=${mode}`,
  intermediateCommits: 'allow-intermediate-commits=true',
  diffSinceAction: 'diff of last-site-action and committed',
  removeCollection: 'to take the collection away, add empty-collection=true',
  faults: (faults) => ` ${faults.join('; ')}`,
};

/** `, and drops what else the buffer changes: a, b` */
function describeDropped(dropped: readonly string[]): string {
  return dropped.length === 0 ? '' : `, and drops what else the buffer changes: ${nameSome(dropped, 5)}`;
}

const because = (reason: string | null | undefined): string => (reason ? `: ${reason}` : '');

/**
 * Every sentence there is, by its code; its parameter are the arguments that a remark of the code has.
 * A word more here is all that a new remark takes; nothing else in the program knows how one is worded.
 */
export const remarkWords = {
  text: ({ text }: { readonly text: string }) => text,

  // a node of a site: at rest
  'in-state': ({ state }: State) => `in '${state}'`,
  'is-in-state': ({ state }: State) => `it is in '${state}'`,
  'state-broken': ({ state, reason, node }: State & Reason & { readonly node: string }) =>
    `it is in '${state}': ${reason ?? 'without a reason'} (baton watch ${node})`,
  'in-maintenance': ({ reason }: Reason) => `it is in maintenance${because(reason)}`,
  retired: ({ reason }: Reason) => `it is retired${because(reason)}`,
  'not-enrolled': () => 'it is not enrolled',
  'nothing-to-tear-down': () => 'it is not enrolled: there is nothing to tear down',
  'not-enrolled-enrols': () => 'it is not enrolled: deploy_site enrols it',
  'no-longer-enrolled': ({ node }: { readonly node: string }) => `${node} is no longer enrolled`,
  'not-in-documents': () => 'the documents have no such node',
  'adoption-failed': ({ reason }: Reason) => `its adoption failed: ${reason ?? 'without a reason'}`,
  owned: ({ owner }: { readonly owner: string }) => `it belongs to ${owner}`,
  leased: ({ lessee }: { readonly lessee: string }) => `it is leased to ${lessee}`,
  'foreign-instance': ({ instance }: { readonly instance: string }) =>
    `it has instance ${instance}, which is not the site's`,
  'not-deployed-by-site': ({ instance }: { readonly instance: string | null }) =>
    instance === null
      ? 'it is active, and the site has not deployed it'
      : `it is active with instance ${instance}, which the site has not deployed`,
  'deployed-already': () => 'it was deployed already',
  'deployed-already-now': ({ doing, whose }: Doing & { readonly whose: string }) =>
    `it was deployed already; now: ${describeRemark(doing)} (${whose})`,
  outdated: ({ revision, differs }: { readonly revision: number; readonly differs: readonly string[] }) =>
    `it was deployed already, from revision ${revision}; the documents say something else by now: ` +
    describeDifferences(differs),
  'deployed-elsewhere': ({ deployed, state }: State & { readonly deployed: Remark }) =>
    `${describeRemark(deployed)}; it is in '${state}'`,
  'not-in-service': ({ state }: State) => `it was deployed, and is in '${state}' before it was in service`,
  'prepared-already': () => 'it was prepared already',
  'reserved-after-failure': () => 'its last deploy failed; it is reserved still',
  'labelled-already': () => 'it was so already',
  'torn-down-forgotten': ({ wiped }: { readonly wiped: string }) => `torn down, ${wiped}, forgotten`,
  'torn-down-kept': ({ state, wiped }: State & { readonly wiped: string }) => `it is ${state}, ${wiped}, off`,
  'in-service-since-wipe': () => 'it was put into service again after it was wiped',
  'rebuild-failed': ({ remedy }: { readonly remedy: string }) => `its rebuild failed; rebuild it, or: ${remedy}`,
  'no-longer-prepared': ({ state, reason }: State & Reason) =>
    `it is no longer prepared: it is in '${state}'${because(reason)}`,
  'reservation-gone': () => 'it is no longer prepared: its reservation is gone',
  'reservation-failed': ({ reason }: Reason) => `it could not be reserved: ${reason ?? 'without a reason'}`,
  'reservation-elsewhere': ({ allocation, node }: { readonly allocation: string; readonly node: string }) =>
    `allocation ${allocation}, which was made for it, has node ${node}`,
  'raid-over-kept-disks': () =>
    'its RAID would be rebuilt, which deletes all arrays, and a wipe has kept disks of it, which stay ' +
    'as they are: take the RAID out of its document and start update_site; or give the kept disks up: redeploy_server ' +
    'without preserve-local-storage wipes them all and builds it',
  'deployed-by-other': ({ whose }: { readonly whose: string }) => `${whose} deploys it`,
  'flow-failed': ({
    error,
    node,
  }: {
    readonly error: string;
    readonly node: string;
    /** Code of the step's fault, for programs. */
    readonly fault?: string | undefined;
  }) => `${error} (baton watch ${node})`,

  // … and at work
  flow: describeWork,
  'waiting-for-flow': ({ doing, whose }: Doing & { readonly whose: string }) =>
    `waiting for the current flow: ${describeRemark(doing)} (${whose})`,
  'waiting-to-leave-cluster': () => 'waiting for the current flow, then removing it from the cluster',
  'waiting-for-reservation': ({ reason }: Reason) => `waiting for its reservation${because(reason)}`,
  enrolling: () => 'enrolling',
  verifying: () => 'verifying',
  inspecting: () => 'inspecting',
  cleaning: () => 'cleaning',
  reserving: () => 'reserving it',
  'setting-up-hardware': () => 'setting up RAID and BIOS',
  'leaving-failed-inspection': () => 'leaving a failed inspection',
  'leaving-failed-cleaning': () => 'leaving a failed cleaning',
  'leaving-pool-for-hardware': () => 'leaving the pool for RAID and BIOS',
  'leaving-pool-for-wipe': () => 'leaving the pool to be wiped',
  'leaving-state': ({ state }: State) => `leaving '${state}'`,
  'tearing-down-again': () => 'tearing down again',
  'tearing-down-failed-deploy': () => 'tearing down a failed deploy',
  aligning: ({ differs }: { readonly differs: readonly string[] }) => `bringing in line: ${differs.join(', ')}`,
  'withdrawing-old-reservation': () => 'withdrawing an old reservation',
  'withdrawing-reservation': () => 'withdrawing its reservation',
  'returning-reservation': () => 'giving back its reservation',
  'recording-deploy': () => 'recording its deploy',
  'beginning-deploy': () => 'beginning its deploy',
  'waiting-for-service': () => 'waiting for it to be in service',
  'asking-for-service': () => 'asking whether it is in service',
  'ending-maintenance': () => 'ending the maintenance of a failed cleaning',
  'putting-into-maintenance': () => 'putting it into maintenance',
  'leaving-clusters': () => 'taking it out of its clusters',
  'leaving-clusters-again': () => 'taking it out of its clusters again: it may have rejoined',
  'removing-from-cluster': () => 'removing it from the cluster',
  'releasing-to-wipe': () => 'releasing its instance, then wiping it',
  wiping: () => 'wiping it',
  'making-available': () => 'making it available',
  forgetting: () => 'forgetting it',
  'paused-before': ({ doing }: Doing) => `paused before ${describeRemark(doing)}`,
  'lacking-before': ({ doing, lacks }: Doing & { readonly lacks: string }) =>
    `waiting before ${describeRemark(doing)}: ${lacks}`,
  'trying-again': ({ doing, error }: Doing & { readonly error: string }) =>
    `${describeRemark(doing)}: another try after: ${error}`,
  refused: ({ doing, error }: Doing & { readonly error: string }) => `${describeRemark(doing)}: ${error}`,
  cancelling: ({ reason }: { readonly reason: string }) => `being broken off: ${reason}`,
  'breaking-off': ({ doing }: Doing) => `breaking off: ${describeRemark(doing)}`,
  'breaking-off-later': ({ doing }: Doing) => `breaking off when it has ended: ${describeRemark(doing)}`,
  'deployed-before-stop': ({ reason }: { readonly reason: string }) =>
    `${reason}; its deploy had ended by then: it is active`,
  'gave-up-stopping': ({
    reason,
    minutes,
    doing,
    state,
  }: State & Doing & { readonly reason: string; readonly minutes: number }) =>
    `${reason}; it did not come to rest within ${minutes} minutes (${describeRemark(doing)}): ` +
    `it is in maintenance, in '${state}'`,
  stalled: ({ doing, hours }: Doing & { readonly hours: number }) =>
    `gets no further for ${hours === 1 ? 'an hour' : `${hours} hours`}: ${describeRemark(doing)}`,
  undocumented: ({ differs, error }: { readonly differs: readonly string[]; readonly error: Remark | undefined }) =>
    [...(error === undefined ? [] : [describeRemark(error)]), `not as documented: ${differs.join(', ')}`].join('; '),

  // why a rollout begins no further node
  'rollout-window': ({ opens }: { readonly opens: string }) => `its window, which opens ${opens}`,
  'canaries-begun': ({ nodes, seconds }: Canaries) =>
    `its canaries ${nodes.join(', ')}, which come first and must stay in service for ${seconds} s`,
  'canaries-watched': ({ nodes, seconds, since }: Canaries & { readonly since: string }) =>
    `canary ${nodes.join(', ')}, in service since ${since}, to stay so for ${seconds} s`,
  'rollout-batch': ({ size, atWork }: { readonly size: number; readonly atWork: number }) =>
    `a batch of ${size}, of which ${atWork} have not ended`,
  'rollout-out': ({ where, out, most }: { readonly where: string; readonly out: number; readonly most: number }) =>
    `${where}, which has ${out} of at most ${most} nodes out`,
  'gate-unasked': ({ gate }: Gate) => `health gate ${gate}, which has not been asked yet`,
  'gate-held': ({ gate, since, seconds }: Gate & { readonly since: string; readonly seconds: number }) =>
    `health gate ${gate}, good since ${since}, to stay so for ${seconds} s`,
  'gate-not-good': ({ gate, since, said, until }: Gate & GateAnswer & { readonly until: string }) =>
    `health gate ${gate}, not good since ${since}: ${said}; unless it is good again by ${until} the action pauses`,
  // … and why it has paused the action
  'canary-failed': ({ node }: { readonly node: string }) => `canary ${node} failed`,
  'canary-lost': ({ node, why }: { readonly node: string; readonly why: string }) =>
    `canary ${node} is no longer in service: ${why}`,
  'many-failed': ({ nodes }: Nodes) => `${nodes.length} of its nodes failed: ${nameSome(nodes, 5)}`,
  'same-cause': ({ nodes, cause }: Nodes & { readonly cause: string }) =>
    `${nodes.length} of its nodes failed for the same cause, ${cause}: ${nameSome(nodes, 5)}`,
  'rollout-stuck': ({ nodes }: Nodes) =>
    `as many nodes as may be out have failed: ${nameSome(nodes, 5)}; unpause begins others in spite of them`,
  'gate-bad': ({ gate, since, said }: Gate & GateAnswer) => `health gate ${gate} is not good since ${since}: ${said}`,

  // what a step at a cluster has found
  'cordoned-already': ({ node }: { readonly node: string }) => `Node ${node} is cordoned already`,
  'unknown-in-cluster': ({ server, node }: { readonly server: string; readonly node: string }) =>
    `the Kubernetes cluster at ${server} has no node ${JSON.stringify(node)}`,
  'pod-left-alone': ({ pod, because: why }: { readonly pod: string; readonly because: string }) =>
    `Pod ${pod} is left alone: ${why}`,
  'pod-loses-data': ({ pod }: { readonly pod: string }) => `Pod ${pod} goes with its local data (emptyDir)`,
  'pod-lost': ({ pod }: { readonly pod: string }) => `Pod ${pod} goes for good: no controller replaces it`,

  // why a request about a site is refused
  'buffer-changes-collection': (
    { collection, dropped }: { readonly collection: string; readonly dropped: readonly string[] },
    { bufferMode }: Dialect,
  ) =>
    `The buffer changes collection ${collection} already. Commit it first; or ${bufferMode('replace')} puts this in its ` +
    `place${describeDropped(dropped)}.`,
  'buffer-not-empty': (
    { changed, dropped }: { readonly changed: readonly string[]; readonly dropped: readonly string[] },
    { bufferMode }: Dialect,
  ) =>
    `The buffer is not empty: it changes ${nameSome(changed, 5)}. Commit it first; or ${bufferMode('append')} adds to it; ` +
    `${bufferMode('replace')} starts again from the committed revision${describeDropped(dropped)}.`,
  'buffer-lost-by-rollback': ({ changed }: { readonly changed: readonly string[] }, { bufferMode }: Dialect) =>
    `The buffer is not empty: it changes ${nameSome(changed, 5)}. Commit it first; or ${bufferMode('replace')} drops what ` +
    'it changes.',
  'no-documents-given': (_given: object, { removeCollection }: Dialect) =>
    `body: it has no documents; ${removeCollection}`,
  'action-under-way': ({
    name,
    open,
    id,
    state,
  }: {
    readonly name: string;
    readonly open: string;
    readonly id: string;
    readonly state: string;
  }) => `${name} not started: ${open} ${id} is under way (${state}), and one runs at a time`,
  'intermediate-commits': (
    { between, revision }: { readonly between: readonly number[]; readonly revision: number },
    { diffSinceAction, intermediateCommits }: Dialect,
  ) =>
    `Intermediate commit detected: revision${between.length === 1 ? '' : 's'} ${between.join(', ')} between the last site ` +
    `action and revision ${revision}; look at what would change (${diffSinceAction}), then give ${intermediateCommits}`,
  'plugin-faults': (
    { plugin, faults }: { readonly plugin: string; readonly faults: readonly string[] },
    dialect: Dialect,
  ) => `plugin ${plugin}:${dialect.faults(faults)}`,
  'revision-faults': (
    { revision, faults }: { readonly revision: number; readonly faults: readonly string[] },
    dialect: Dialect,
  ) => `revision ${revision} has faults:${dialect.faults(faults)}`,
} as const;

export type RemarkCode = keyof typeof remarkWords;
type ArgumentsOf<Code extends RemarkCode> =
  Parameters<(typeof remarkWords)[Code]> extends [infer Given, ...unknown[]] ? [Given] : [];

/** A remark of our own words: its code, and the arguments that the catalogue's entry asks for. */
export function newRemark<Code extends RemarkCode>(code: Code, ...[given]: ArgumentsOf<Code>): Remark {
  return { code, arguments: (given ?? {}) as Remark['arguments'] };
}

/** In words, for people; nothing reads them back. A code of a newer release is shown as it is stored. Pure. */
export function describeRemark({ code, arguments: given }: Remark, dialect = apiDialect): string {
  const words = Object.hasOwn(remarkWords, code) ? remarkWords[code as RemarkCode] : undefined;
  return words ? words(given as never, dialect) : `${code} ${JSON.stringify(given)}`;
}

/** A refusal that is a remark: its message, and the remark beside it for who renders it. */
export function remarkError(code: ErrorCode, remark: Remark, details: AppError['details'] = {}): AppError {
  return new AppError(code, describeRemark(remark), { details: { ...details, remark } });
}
