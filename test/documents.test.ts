import { access, readdir, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { stringify } from 'yaml';
import type { z } from 'zod';
import type { AgentStep } from '#agent/context.ts';
import { steps as agentSteps } from '#agent/steps/index.ts';
import type { Access } from '#conductor/auth/access.ts';
import { accessRules } from '#conductor/auth/access-rules.ts';
import { patchRules } from '#conductor/auth/authorize.ts';
import { commands } from '#conductor/cli/commands.ts';
import { optionsOf } from '#conductor/cli/shell/command.ts';
import { driverSteps } from '#conductor/flows/driver-steps/index.ts';
import { alerts, dashboard, dashboardQueries } from '#conductor/kernel/metrics/dashboard.ts';
import { metricTable } from '#conductor/kernel/metrics/metric-table.ts';
import { collectProcessMetrics, createMetrics } from '#conductor/kernel/metrics/metrics.ts';
import { webhookEvents } from '#conductor/kernel/outbox.ts';
import { flowKinds } from '#conductor/model/flows/flow-kinds.ts';
import type { FlowKindName } from '#conductor/model/flows/flow-states.ts';
import {
  legalVerbs,
  type ProvisionState,
  provisionStates,
  provisionTransitions,
  transientStates,
} from '#conductor/model/provision-states.ts';
import {
  factsOf,
  type NodeCaseName,
  nameDecision,
  nodeCase,
  nodeCases,
  teardownCase,
} from '#conductor/sites/nodes/testing/node-cases.ts';
import { conductorSteps } from '#conductor/start/conductor-steps.ts';
import { describeSettings } from '#conductor/start/environment.ts';
import { argsInfo } from '#shared/steps/define-step.ts';

/** Documents that are made from tables. When one is out of date: `npm run docs`, and commit it with the change. */

const generated = '<!-- Made from the code by `npm run docs`; do not edit. -->\n\n';

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  expect(rows.length).toBeGreaterThan(0);
  const [first, ...others] = [head, ...rows].map((row) => `| ${row.join(' | ')} |`);
  return [first, `|${'---|'.repeat(head.length)}`, ...others].join('\n');
}

/** Rows whose cells behind the first are the same become one. */
function mergeRows(rows: readonly (readonly string[])[], separator: string): string[][] {
  const groups = Map.groupBy(rows, ([, ...cells]) => JSON.stringify(cells));
  return [...groups.values()].map((same) => [
    same.map(([first = '']) => first).join(separator),
    ...(same[0]?.slice(1) ?? []),
  ]);
}

/** @param file from the root of the repository */
async function expectDocument(text: string, file: string): Promise<void> {
  await expect(text, `${file} is out of date: run \`npm run docs\` and commit it`).toMatchFileSnapshot(`../${file}`);
}

function argumentsOf(schema: z.ZodType): string {
  const names = Object.entries(argsInfo(schema) ?? {});
  return names.map(([name, info]) => `\`${name}\`${info.required ? '' : '?'}`).join(', ');
}

function prioritiesOf({ priorities }: Pick<AgentStep, 'priorities'>): string {
  return Object.entries(priorities)
    .map(([kind, priority]) => (priority === 0 ? kind : `${kind} ${priority}`))
    .join(', ');
}

test('provision states', async () => {
  const id = (state: string) => state.replaceAll(/[ -]/g, '_');
  const arrows = provisionStates.flatMap((state) => {
    const events = Map.groupBy(Object.entries(provisionTransitions[state]), ([, next]) => next);
    return [...events].map(
      ([next, same]) => `  ${id(state)} --> ${id(next)}: ${same.map(([event]) => event).join(', ')}`,
    );
  });
  const verbs = provisionStates
    .filter((state) => legalVerbs(state).length > 0)
    .map((state) => `- ${state}: ${legalVerbs(state).join(', ')}`);
  const text = [
    `${generated}# Provision states`,
    `\`\`\`mermaid\nstateDiagram-v2\n${['  [*] --> enroll', ...arrows].join('\n')}\n\`\`\``,
    '## What an operator may request in each state',
    'The `target` of `PUT states/provision`; in other states none.',
    verbs.join('\n'),
    '',
  ].join('\n\n');
  await expectDocument(text, 'docs/reference/provision-states.md');
});

function teardownLists(states: readonly ProvisionState[], names: readonly NodeCaseName[]): string[] {
  const stages: readonly [string, readonly FlowKindName[]][] = [
    ['### at first', []],
    ['### out of its clusters', ['decommission']],
    ['### wiped', ['decommission', 'wipe']],
    ['### removed from the cluster', ['decommission', 'wipe', 'leave_cluster']],
  ];
  return stages.flatMap(([title, succeeded]) => {
    const cell = (state: ProvisionState, name: NodeCaseName) =>
      nameDecision(teardownCase(factsOf(state, name), { succeeded }));
    return [title, decisionList(states, names, cell)];
  });
}

/** States with the same decisions are one line; a case that is decided alike everywhere is a sentence. */
function decisionList(
  states: readonly ProvisionState[],
  names: readonly NodeCaseName[],
  cell: (state: ProvisionState, name: NodeCaseName) => string,
): string {
  const decisionsOf = (name: NodeCaseName) => new Set(states.map((state) => cell(state, name)));
  const varied = names.filter((name) => decisionsOf(name).size > 1);
  const always = Map.groupBy(
    names.filter((name) => !varied.includes(name)),
    (name) => [...decisionsOf(name)].join(''),
  );
  const describe = (state: ProvisionState) => {
    const byDecision = [...Map.groupBy(varied, (name) => cell(state, name))];
    return byDecision.map(([decision, of]) => (byDecision.length > 1 ? `${decision} (${of.join(', ')})` : decision));
  };
  const lines = [...Map.groupBy(states, (state) => describe(state).join('; '))].map(
    ([decisions, same]) => `- ${same.join(', ')}: ${decisions}`,
  );
  const sentences = [...always].map(([decision, of]) => `${of.join(', ')}: always ${decision}`);
  return [
    ...(varied.length > 0 ? [lines.join('\n')] : []),
    ...(sentences.length > 0 ? [`${sentences.join('; ')}.`] : []),
  ].join('\n\n');
}

test('what sites do with nodes', async () => {
  const names = Object.keys(nodeCases) as NodeCaseName[];
  const states = provisionStates.filter((state) => !transientStates.has(state));
  const listOf = (phase: 'prepare' | 'deploy') =>
    decisionList(states, names, (state, name) => nameDecision(nodeCase(factsOf(state, name), { phase })));
  const text = [
    `${generated}# What comes next for a node`,
    'Of a node that matches its document, is not in maintenance, has no flow under way and has not failed in this action (else: `failed`). README.md explains.',
    '## prepare',
    listOf('prepare'),
    '## deploy',
    listOf('deploy'),
    '## prepare, when it is torn down first',
    'For `redeploy_server` with Kubernetes and etcd, by what the action has done to the node. `wiping`: its disks are wiped in place of automated cleaning.',
    ...teardownLists(states, names),
    '',
  ].join('\n\n');
  await expectDocument(text, 'conductor/sites/nodes/next-moves.md');
});

test('who may do what', async () => {
  const describe = ({ everywhere, owner, lessee }: Access) =>
    `${everywhere}; owner’s ${owner ?? '–'}; lessee’s ${lessee ?? '–'}`;
  const byAccess = Map.groupBy(accessRules, ({ access }) => (access === 'public' ? 'everybody' : describe(access)));
  const groups = [...byAccess].map(([access, rules]) => {
    const lines = [...Map.groupBy(rules, ({ policy }) => policy)].map(([policy, ofPolicy]) => {
      const operations = [...Map.groupBy(ofPolicy, ({ method }) => method)].map(
        ([method, same]) => `${method} ${same.map(({ path }) => `\`${path}\``).join(', ')}`,
      );
      return `- ${policy}: ${operations.join('; ')}`;
    });
    return `## ${access}\n\n${lines.join('\n')}`;
  });
  const fields = Object.entries(patchRules).map(([field, access]) => [`\`${field}\``, describe(access)]);
  const text = [
    `${generated}# Who may do what`,
    'Ironic’s and Baton’s policies with their operations, by the lowest role that has them: of callers without a project; in the owner’s project; in the lessee’s. For what belongs to no node, `owner’s` means any project. See [access](../access.md).',
    ...groups,
    '## Fields of a node with rules of their own',
    table(['field', 'lowest role'], mergeRows(fields, ' ')),
    '',
  ].join('\n\n');
  await expectDocument(text, 'docs/reference/access.md');
});

test('settings', async () => {
  const lines = describeSettings().map(
    ({ name, meaning, default: fallback }) => `- \`${name}\`${fallback && ` (\`${fallback}\`)`}: ${meaning}`,
  );
  const text = `${generated}# Settings of the conductor\n\nAll are environment variables; in parentheses their defaults.\n\n${lines.join('\n')}\n`;
  await expectDocument(text, 'docs/reference/settings.md');
});

test('steps', async () => {
  const list = (steps: (typeof flowKinds)[FlowKindName]['opening']) =>
    steps.map(
      (step) => `${step.interface}.${step.step}${step.priority ? ` ${step.priority}` : ''}${step.inBand ? '*' : ''}`,
    );
  const flows = mergeRows(
    Object.entries(flowKinds).map(([kind, { opening, sorted, closing, cleanup }]) => [
      kind,
      [...list(opening), ...list(sorted), ...list(closing)].join(', '),
      list(cleanup).join(', ') || '–',
    ]),
    ', ',
  );
  const own = conductorSteps.map((step) => `- ${step.interface}.${step.step}: ${step.description}`);
  const describe = (step: Pick<AgentStep, 'interface' | 'step' | 'priorities' | 'args' | 'description'>) => {
    const facts = [argumentsOf(step.args), prioritiesOf(step)].filter(Boolean);
    return `- ${step.interface}.${step.step} (${facts.join('; ')}): ${step.description.replace(/\.?$/, '.')}`;
  };
  const inBand = agentSteps.map((step) => {
    const destroys = {
      none: '',
      'root disk': ' **Destroys the root disk.**',
      all: ' **Destroys all disks.**',
      unknown: ' May write to disks.',
    };
    return `${describe(step)}${destroys[step.destroys]}${step.abortable ? '' : ' Not abortable.'}`;
  });
  const text = [
    `${generated}# Steps`,
    '## Core steps of each kind of flow',
    'In order, with priorities. `*` = done by the agent, the others by the conductor. Other steps run by their priority, or after `boot_ramdisk`.',
    table(['flow', 'steps', 'after a failure'], flows),
    '## What the conductor’s steps do',
    own.join('\n'),
    '## Out-of-band steps of drivers',
    'Offered where the hardware type has the interface; they hide in-band steps of the same name. In parentheses: arguments, and the kinds of flow with priorities; without one, only when requested.',
    driverSteps.map(describe).join('\n'),
    '## In-band steps of the generic hardware manager',
    inBand.join('\n'),
    '',
  ].join('\n\n');
  await expectDocument(text, 'docs/reference/steps.md');
});

test('metrics', async () => {
  const lines = (isFleet: boolean) =>
    Object.values(metricTable)
      .filter(({ kind }) => (kind === 'fleet') === isFleet)
      .map(({ name, kind, labels, help }) => {
        const type = [isFleet ? 'gauge' : kind, ...labels.map((label) => `\`${label}\``)].join(', ');
        return `- \`${name}\` (${type}): ${help}`;
      })
      .join('\n');
  const metrics = createMetrics();
  collectProcessMetrics(metrics);
  const own = new Set<string>(Object.values(metricTable).map(({ name }) => name));
  const ofProcess = metrics.registry.getMetricsAsArray().filter(({ name }) => !own.has(name));
  const text = [
    `${generated}# Metrics`,
    '`GET /metrics`, for callers with the role reader, or anybody with `BATON_METRICS=anybody`. No label names a node.',
    '## Of the whole database',
    'Every conductor on one database answers the same: use `max` over instances, never `sum`. While the database is away they are absent and `baton_database_up` is 0.',
    lines(true),
    '## Of each conductor',
    'Use `sum` over instances. Histograms are in seconds. In parentheses: type and labels.',
    lines(false),
    '## Of its process',
    `prom-client’s: ${ofProcess.map(({ name }) => `\`${name}\``).join(', ')}`,
    '## Alerts and a dashboard',
    '[Rules for Prometheus](../monitoring/baton.rules.yml), which take the job of the conductors to be `baton`, and [a dashboard](../monitoring/baton-dashboard.json) to import into Grafana, version 9 or later.',
    '',
  ].join('\n\n');
  await expectDocument(text, 'docs/reference/metrics.md');
  const rules = alerts.map(({ name, expr, why, ...rest }) => ({
    alert: name,
    expr,
    for: rest.for,
    labels: { severity: 'warning' },
    annotations: { summary: why },
  }));
  await expectDocument(
    `# Made from the code by \`npm run docs\`; do not edit.\n${stringify({ groups: [{ name: 'baton', rules }] })}`,
    'docs/monitoring/baton.rules.yml',
  );
  await expectDocument(`${JSON.stringify(dashboard(), null, 2)}\n`, 'docs/monitoring/baton-dashboard.json');
  // one on a metric that does not exist never fires, and shows nothing
  const all = new Set([...own, ...ofProcess.map(({ name }) => name)]);
  const queries = [...alerts.map(({ expr }) => expr), ...dashboardQueries];
  const used = queries.flatMap((expr) => expr.match(/\b(baton|process|nodejs)_\w+/g) ?? []);
  expect(used.length).toBeGreaterThan(20);
  expect(used.filter((name) => !all.has(name.replace(/_(count|bucket)$/, '')))).toEqual([]);
});

test('events of webhooks', async () => {
  const lines = Object.entries(webhookEvents).map(([type, meaning]) => `- \`${type}\`: ${meaning}`);
  const text = `${generated}# Webhook events\n\nEach type, with its data. Events that come of a request have \`request_id\` and \`global_request_id\` beside \`data\` ([the log](../trouble.md#the-log)); of allocations they are absent, and \`null\` where no request is known.\n\n${lines.join('\n')}\n`;
  await expectDocument(text, 'docs/reference/events.md');
});

test('every baton command in a guide is one, with options that it has', async () => {
  const root = join(import.meta.dirname, '..');
  const guides = (await readdir(join(root, 'docs')))
    .filter((path) => path.endsWith('.md'))
    .map((path) => `docs/${path}`);
  const given = await Promise.all(
    guides.map(async (path) => {
      const text = (await readFile(join(root, path), 'utf8')).replaceAll('\\\n', ' ');
      const inBlocks = [...text.matchAll(/^```(\w*)\n(.*?)^```/gms)].flatMap(([, language = '', block = '']) =>
        language === '' || language === 'sh' ? block.split('\n') : [],
      );
      const inLine = [...text.replaceAll(/^```.*?^```/gms, '').matchAll(/`([^`\n]+)`/g)].map(([, code = '']) => code);
      return [...inBlocks, ...inLine]
        .flatMap((code) => code.replace(/ +#.*/, '').split('&&'))
        .map((code) => code.trim().replace(/^npx /, ''))
        .filter((code) => /^baton [a-z]/.test(code))
        .map((code) => ({ path, code }));
    }),
  );
  expect(given.flat().length).toBeGreaterThan(50);
  const wrong = given.flat().filter(({ code }) => {
    const words = code
      .replaceAll(/['[\]]/g, '')
      .split(/ +/)
      .slice(1);
    const command = commands.findLast(({ words: name }) => `${words.join(' ')} `.startsWith(`${name} `));
    const options = words.flatMap((word) => /^--([\w-]+)/.exec(word)?.[1] ?? []);
    return !command || options.some((option) => !(option in optionsOf(command)));
  });
  expect(wrong).toEqual([]);
});

test('every relative link in a document leads to a file, and to a heading of it', async () => {
  const root = join(import.meta.dirname, '..');
  const folders = ['agent', 'conductor', 'docs', 'image-build', 'shared', 'test'];
  const inFolders = await Promise.all(
    folders.map(async (folder) =>
      (await readdir(join(root, folder), { recursive: true })).map((path) => join(folder, path)),
    ),
  );
  const documents = [
    'README.md',
    'CONTRIBUTING.md',
    'SECURITY.md',
    ...inFolders.flat().filter((path) => path.endsWith('.md')),
  ];
  const textOf = async (path: string) => (await readFile(join(root, path), 'utf8')).replaceAll(/^```.*?^```/gms, '');
  const links = await Promise.all(
    documents.map(async (path) => {
      const found = [...(await textOf(path)).matchAll(/\]\(([^)\s#]*)(?:#([^)\s]*))?\)/g)];
      return found
        .filter(([, target = '']) => !/^[a-z]+:/.test(target))
        .map(([, target = '', heading]) => ({ path, target: target ? join(dirname(path), target) : path, heading }));
    }),
  );
  expect(links.flat().length).toBeGreaterThan(20);
  const stale = await Promise.all(
    links.flat().map(async ({ path, target, heading }) => {
      const isThere = await access(join(root, target)).then(
        () => heading === undefined || textOf(target).then((text) => headingsOf(text).includes(heading)),
        () => false,
      );
      return isThere ? [] : [`${path} → ${target}${heading === undefined ? '' : `#${heading}`}`];
    }),
  );
  expect(stale.flat()).toEqual([]);
});

/** Headings as GitHub makes anchors of them. */
function headingsOf(text: string): string[] {
  return [...text.matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, '')
      .replaceAll(' ', '-'),
  );
}
