import { type FlowSummaryView, type FlowView, flowStatuses } from '#conductor/api/flows.ts';
import type { FleetView } from '#conductor/api/node-parts.ts';
import { callFor, listAll, lookPatiently } from '#conductor/cli/shell/api-client.ts';
import { paintStates } from '#conductor/cli/shell/colours.ts';
import { type Command, type CommandContext, type CommandInput, flagOption } from '#conductor/cli/shell/command.ts';
import { formatDuration, spanMs } from '#conductor/cli/shell/format-units.ts';
import { wrapPieces } from '#conductor/cli/shell/help-text.ts';
import { print } from '#conductor/cli/shell/print.ts';
import { createPainter, printable } from '#conductor/cli/shell/screen.ts';
import { usageError } from '#conductor/cli/shell/usage-error.ts';
import { nodeFaults } from '#conductor/model/node-words.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { inParallel } from '#shared/in-parallel.ts';

/** Statuses of flows that go as they should: counted, not listed. */
const asPlanned: ReadonlySet<FlowSummaryView['status']> = new Set(['waiting', 'working']);

interface FleetPicture {
  readonly fleet: FleetView;
  readonly flows: readonly FlowSummaryView[];
  /** List what goes as planned, too. */
  readonly all: boolean;
  /** Advice by the flow's uuid. */
  readonly advice: ReadonlyMap<string, string>;
  /** Names of nodes that were restored from a dump, and of which nobody has said yet what their machines do. */
  readonly restored?: readonly string[];
}

/**
 * The fleet on one screen: nodes by state, then the flows that need somebody, the worst first and the longest of each
 * status before the others, with the whole reason. Pure.
 * @param columns of the terminal; reasons wrap there
 */
export function renderFleet(picture: FleetPicture, now: Date, columns: number): string[] {
  const { fleet, flows, all, advice, restored = [] } = picture;
  const states = Object.entries(fleet.provision_states).map(([state, count]) => `${count} ${state}`);
  const maintenance = fleet.in_maintenance > 0 ? `; ${fleet.in_maintenance} in maintenance` : '';
  const total = `${fleet.nodes} ${fleet.nodes === 1 ? 'node' : 'nodes'}${states.length > 0 ? ': ' : ''}`;
  const head = wrapPieces(`${total}${states.join(', ')}${maintenance}`.split(' '), columns, '  ');
  const listed = listedFlows(flows, all);
  const widest = Math.max(0, ...listed.map((flow) => nameOf(flow).length));
  const rest = flows.length - listed.length;
  return [
    ...head,
    ...renderRestored(restored, columns),
    ...(listed.length > 0 ? [''] : []),
    ...listed.flatMap((flow) => renderFlowSummary(flow, now, { columns, widest, todo: advice.get(flow.uuid) })),
    ...(rest > 0 ? ['', `${countStatuses(flows)}, as planned: baton status --all lists them`] : []),
    ...(flows.length === 0 ? ['nothing is under way'] : []),
  ];
}

/** Number of restored nodes that are named. */
const namedNodes = 12;

/** Renders the nodes that rest since a restore, with what to say of them. */
function renderRestored(restored: readonly string[], columns: number): string[] {
  if (restored.length === 0) return [];
  const more = restored.length > namedNodes ? ` and ${restored.length - namedNodes} more` : '';
  const names = restored.slice(0, namedNodes).map(printable).join(', ');
  const texts = [
    `${names}${more}: restored from a dump, or from a standby that was behind; nothing acts on them`,
    '→ Compare each with its machine: `baton adopt NODE` where an instance runs, `baton manage NODE` where none does. Then `baton maintenance off NODE`.',
  ];
  const wrapped = texts.flatMap((text) => wrapPieces(text.split(' '), columns - indent.length));
  return ['', ...wrapped.map((line, index) => `${index === 0 ? 'restored'.padEnd(indent.length) : indent}${line}`)];
}

/** The worst first, and the longest of each status. */
function listedFlows(flows: readonly FlowSummaryView[], all: boolean): FlowSummaryView[] {
  return flows
    .filter(({ status }) => all || !asPlanned.has(status))
    .sort((a, b) => rank(a) - rank(b) || a.since.localeCompare(b.since));
}

const rank = ({ status }: FlowSummaryView): number => flowStatuses.indexOf(status);
const nameOf = ({ node_name: name, node_uuid: uuid }: FlowSummaryView): string => name ?? uuid;

function countStatuses(flows: readonly FlowSummaryView[]): string {
  return [...asPlanned]
    .map((status) => [flows.filter((flow) => flow.status === status).length, status] as const)
    .filter(([count]) => count > 0)
    .map(([count, status]) => `${count} ${status}`)
    .join(', ');
}

const statusWidth = Math.max(...flowStatuses.map((status) => status.length));
const indent = ' '.repeat(statusWidth + 2);

function renderFlowSummary(
  flow: FlowSummaryView,
  now: Date,
  { columns, widest, todo }: { readonly columns: number; readonly widest: number; readonly todo: string | undefined },
): string[] {
  const took = formatDuration(spanMs(flow.since, null, now));
  const facts = [
    flow.step ?? flow.kind,
    flow.status === 'failed' ? `${took} ago` : took,
    ...(flow.status === 'retrying' ? [`attempt ${flow.attempt}`] : []),
    ...(flow.next_attempt_at === null
      ? []
      : [`again in ${formatDuration(spanMs(now.toISOString(), flow.next_attempt_at, now))}`]),
    ...(flow.until === null ? [] : [`gives up in ${formatDuration(spanMs(now.toISOString(), flow.until, now))}`]),
  ];
  const name = printable(nameOf(flow)).padEnd(widest);
  const lines = [
    ...wrapPieces(
      [
        `${flow.status.padEnd(statusWidth)}  ${name}  ${facts[0]},`,
        ...facts.slice(1).map((fact, index) => (index === facts.length - 2 ? fact : `${fact},`)),
      ],
      columns,
      indent,
    ),
  ];
  const below = [...(flow.reason === null ? [] : [flow.reason]), ...(todo === undefined ? [] : [`→ ${todo}`])];
  const wrapped = below.flatMap((text) => wrapPieces(printable(text).split(' '), columns - indent.length));
  return [...lines, ...wrapped.map((line) => `${indent}${line}`)];
}

/** The fleet as a document, each flow with its advice. */
function documentOf({ fleet, flows, advice, restored = [] }: FleetPicture): object {
  return { fleet, restored, flows: flows.map((flow) => ({ ...flow, advice: advice.get(flow.uuid) ?? null })) };
}

const watchMs = 2_000;

async function look({ client }: CommandContext, all: boolean): Promise<FleetPicture> {
  const [fleet, flows] = await Promise.all([
    callFor<FleetView>(client, 'GET', '/v1/fleet'),
    listAll<FlowSummaryView>(client, { path: '/v1/flows', key: 'flows' }),
  ]);
  if (!fleet) throw new AppError('not_supported', 'this conductor knows no GET /v1/fleet: it is of an older release');
  const [advice, restored] = await Promise.all([
    readAdvice(client, listedFlows(flows, false)),
    fleet.in_maintenance > 0 ? readRestored(client) : [],
  ]);
  return { fleet, flows, all, advice, restored };
}

/** Reads the names of all nodes whose fault is a restore. */
async function readRestored(client: CommandContext['client']): Promise<readonly string[]> {
  const nodes = await listAll<{ readonly uuid: string; readonly name: string | null }>(
    client,
    { path: '/v1/nodes', key: 'nodes' },
    { fault: nodeFaults.restored, fields: 'uuid,name' },
  );
  return nodes.map(({ uuid, name }) => name ?? uuid);
}

/** Flows whose advice is asked for: more than these fit on no screen. */
const advised = 24;

/** Reads what to do next; of flows with one cause at one step only the first is asked about, and the others refer to it. */
async function readAdvice(
  client: CommandContext['client'],
  listed: readonly FlowSummaryView[],
): Promise<ReadonlyMap<string, string>> {
  const alike = Map.groupBy(listed, ({ uuid, status, kind, step, code, subject }) =>
    code === null ? uuid : JSON.stringify([status, kind, step, code, subject]),
  );
  const found = new Map<string, string>();
  const read = async ([first, ...others]: readonly FlowSummaryView[]): Promise<void> => {
    if (!first) return;
    const flow = await callFor<FlowView>(client, 'GET', `/v1/nodes/${first.node_uuid}/flow`);
    if (!flow?.advice) return;
    found.set(first.uuid, flow.advice);
    for (const { uuid } of others) found.set(uuid, `as for ${nameOf(first)}`);
  };
  await inParallel([...alike.values()].slice(0, advised), read, { atOnce: 4 });
  return found;
}

async function status(context: CommandContext, input: CommandInput): Promise<void> {
  const { screen, clock } = context;
  const all = flagOption(input, 'all');
  if (!flagOption(input, 'watch')) {
    const seen = await look(context, all);
    const columns = screen.isTerminal ? screen.size().columns : Number.POSITIVE_INFINITY;
    const text = renderFleet(seen, clock.now(), columns).map((line) => `${line}\n`);
    print(context, input, { json: documentOf(seen), text: paintStates(screen, text.join('')) });
    return;
  }
  if (!screen.isTerminal || input.document !== undefined) {
    throw usageError('--watch: it paints over a terminal; for programs there is baton status -o json');
  }
  const paint = createPainter(screen);
  for (;;) {
    const seen = await lookPatiently(() => look(context, all), clock);
    paint('fleet', renderFleet(seen, clock.now(), screen.size().columns));
    await clock.sleep(watchMs);
  }
}

export const statusCommand: Command = {
  words: 'status',
  options: {
    all: { meaning: 'list what goes as planned, too' },
    watch: { meaning: 'show it again and again until Ctrl-C' },
  },
  meaning: 'the fleet: nodes by state, then what failed, retries, waits for long or is held, the worst first',
  run: status,
};
