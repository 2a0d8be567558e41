import { readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { describe, expect, test } from 'vitest';
import { steps as agentSteps } from '#agent/steps/index.ts';
import { planDestroys } from '#conductor/flows/plan-destroys.ts';
import { reservedStepNames } from '#conductor/flows/reserved-steps.ts';
import { flowKinds } from '#conductor/model/flow-kinds.ts';
import { plannedAdvertised } from '#conductor/model/planned-step.ts';
import { conductorSteps } from '#conductor/start/conductor-steps.ts';

/** DESIGN.md's rules on who may import whom, as a program. */

const root = join(import.meta.dirname, '..');
const layers = ['shared', 'agent', 'conductor', 'image-build', 'test'] as const;

interface Source {
  /** `conductor/nodes/node-store.ts` */
  readonly path: string;
  readonly text: string;
  /** Project files by path, packages by name; imports of types alone cost nothing at run time and are not among them. */
  readonly imports: readonly string[];
}

async function readSources(): Promise<Source[]> {
  const files = await Promise.all(
    layers.map(async (layer) => {
      const entries = await readdir(join(root, layer), { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
        .map((entry) => relative(root, join(entry.parentPath, entry.name)));
    }),
  );
  return Promise.all(
    files.flat().map(async (path) => {
      const text = await readFile(join(root, path), 'utf8');
      const found = text.matchAll(
        /^(?:import|export)\b(?! type\b)[^;]*?\bfrom '([^']+)'|^import '([^']+)'|\bimport\('([^']+)'\)/gms,
      );
      const imports = [...found].map((match) => (match[1] ?? match[2] ?? match[3] ?? '').replace(/^#/, ''));
      return { path, text, imports };
    }),
  );
}

const sources = await readSources();
const product = sources.filter(({ path }) => !path.startsWith('test/') && !/\.(test|contract)\.ts$/.test(path));
const within = (path: string, folders: readonly string[]) => folders.some((folder) => path.startsWith(`${folder}/`));

/** `importer → imported` for every import that a rule forbids. */
function offences(
  from: (source: Source) => boolean,
  forbidden: (imported: string) => boolean,
  files: readonly Source[] = product,
): string[] {
  return files
    .filter(from)
    .flatMap(({ path, imports }) => imports.filter(forbidden).map((imported) => `${path} → ${imported}`));
}

test('the check looks at files', () => {
  expect(product.length).toBeGreaterThan(120);
  for (const layer of layers)
    expect(sources.filter(({ path }) => path.startsWith(`${layer}/`)).length).toBeGreaterThan(3);
  expect(sources.flatMap(({ imports }) => imports).length).toBeGreaterThan(300);
  expect(
    offences(
      ({ path }) => path === 'conductor/start/main.ts',
      (name) => name === 'shared/log.ts',
    ),
  ).toHaveLength(1);
});

describe('imports', () => {
  test('shared imports nothing of the programs', () => {
    expect(
      offences(
        ({ path }) => path.startsWith('shared/'),
        (name) => within(name, layers.slice(1)),
      ),
    ).toEqual([]);
  });

  test('agent and conductor never import each other, and nobody imports image-build or tests', () => {
    const agent = offences(
      ({ path }) => path.startsWith('agent/'),
      (name) => within(name, ['conductor']),
    );
    const conductor = offences(
      ({ path }) => path.startsWith('conductor/'),
      (name) => within(name, ['agent']),
    );
    const both = offences(
      ({ path }) => within(path, ['shared', 'agent', 'conductor']),
      (name) => within(name, ['image-build', 'test']),
    );
    expect([...agent, ...conductor, ...both]).toEqual([]);
  });

  test('what talks to hardware knows no database, no flow and no HTTP', () => {
    const forbidden = ['conductor/kernel/db', 'conductor/flows', 'conductor/http', 'conductor/agents'];
    const drivers = ({ path }: Source) => within(path, ['conductor/drivers', 'conductor/networks']);
    expect(offences(drivers, (name) => within(name, forbidden))).toEqual([]);
  });

  test('HTTP is the outermost layer', () => {
    expect(
      offences(
        ({ path }) =>
          within(path, ['conductor']) && !within(path, ['conductor/http']) && path !== 'conductor/start/main.ts',
        (name) => within(name, ['conductor/http']),
      ),
    ).toEqual([]);
  });

  test('pure files import nothing that can wait', () => {
    const isPure = ({ path }: Source) =>
      /\/(plan-[a-z-]+|[a-z-]+-states|flow-kinds|flow-log|next-action|match|demand|select-[a-z-]+|required-boot|root-device-hints|image-info|boot-mode)\.ts$/.test(
        path,
      );
    expect(product.filter(isPure).length).toBeGreaterThan(6);
    const waits = (name: string) =>
      /^(node:(?!path|net|crypto)|undici|postgres|drizzle|hono|@hono)/.test(name) ||
      within(name, ['conductor/kernel/db/open', 'shared/process']) ||
      name.endsWith('-store.ts');
    expect(offences(isPure, waits)).toEqual([]);
    expect(
      product
        .filter(isPure)
        .filter(({ text }) => /\basync\b|\bawait\b/.test(text))
        .map(({ path }) => path),
    ).toEqual([]);
  });

  test('processes are started in one place', () => {
    const starts = offences(
      ({ path }) => path !== 'shared/process/run.ts',
      (name) => name === 'node:child_process',
      sources,
    );
    expect(starts).toEqual([]);
  });
});

describe('tables match their folders', () => {
  const stepFiles = async (folder: string) =>
    (await readdir(join(root, folder))).filter(
      (name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && name !== 'index.ts',
    );

  test('in-band steps: one file each', async () => {
    const names = agentSteps.map((step) => `${step.interface}-${step.step.replaceAll('_', '-')}.ts`);
    expect(names.sort()).toEqual((await stepFiles('agent/steps')).sort());
  });

  test('plans know of every step of the generic agent what it does to disks', () => {
    const planned = agentSteps.map((step) => plannedAdvertised({ ...step, reboot_requested: false }, true));
    const { warnings } = planDestroys(planned, {
      disks: undefined,
      node: { properties: {}, instanceInfo: {}, targetRaidConfig: {} },
    });
    expect(planned.length).toBeGreaterThan(10);
    expect(warnings).toEqual([]);
  });

  test('every step of every flow kind, and only those, has something that runs it', () => {
    const key = (step: { interface: string; step: string }) => `${step.interface}.${step.step}`;
    const wanted = Object.values(flowKinds).flatMap((kind) =>
      [...kind.opening, ...kind.sorted, ...kind.closing, ...(kind.beforeWipe ?? []), ...kind.cleanup].map(key),
    );
    // what follows a step, what stands in another's place, and what an operator may list
    const others = [
      'deploy.reboot_ramdisk',
      'deploy.gather_steps',
      'deploy.run_plugin_task',
      'deploy.fake_deploy',
      ...reservedStepNames,
    ];
    expect(new Set([...wanted, ...others])).toEqual(new Set(conductorSteps.map(key)));
    expect(new Set(conductorSteps.map(key)).size).toBe(conductorSteps.length);
  });
});
