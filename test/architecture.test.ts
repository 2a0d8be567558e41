import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { steps as agentSteps } from '#agent/steps/index.ts';
import { planDestroys } from '#conductor/flows/plan-destroys.ts';
import { reservedStepNames } from '#conductor/flows/reserved-steps.ts';
import { flowKinds } from '#conductor/model/flow-kinds.ts';
import { plannedAdvertised } from '#conductor/model/planned-step.ts';
import { conductorSteps } from '#conductor/start/conductor-steps.ts';
import { findKnots, findOffences, floors } from './house/floors.ts';
import { isProduct, layers, readSources, type Source } from './house/read-sources.ts';

/** DESIGN.md's rules on who may import whom, as a program. */

const root = join(import.meta.dirname, '..');
const sources = await readSources(root);
const product = sources.filter(isProduct);
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
      ({ path }) => path === 'conductor/start/run-conductor.ts',
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

describe('the floors of the conductor', () => {
  test('every folder stands on one', async () => {
    const entries = await readdir(join(root, 'conductor'), { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    expect(floors.flat().sort()).toEqual(folders.sort());
  });

  test('imports, of types too, go down', () => {
    expect(findOffences(sources)).toEqual([]);
  });

  test('nor do folders within one of them import each other in a circle', () => {
    expect(findKnots(sources)).toEqual([]);
  });

  test('the check sees types, folders that do not know each other, and strangers', () => {
    const source = (path: string, imports: readonly string[], typeImports: readonly string[] = []): Source => ({
      path: `conductor/${path}`,
      text: '',
      imports: imports.map((name) => `conductor/${name}`),
      typeImports: typeImports.map((name) => `conductor/${name}`),
    });
    const made = [
      source('nodes/a.ts', ['kernel/db/open.ts', 'nodes/ports/b.ts'], ['flows/c.ts']),
      source('drivers/a.ts', ['networks/b.ts', 'kernel/c.ts'], ['kernel/db/schema/node.ts']),
      source('cli/a.ts', ['api/b.ts', 'cli/c.ts', 'model/d.ts', 'nodes/e.ts']),
      source('nodes/a.test.ts', ['start/b.ts']),
      source('nodes/testing/a.ts', ['start/b.ts']),
      source('elsewhere/a.ts', ['model/b.ts']),
    ];
    expect(findOffences(made)).toEqual([
      'cli/a.ts → nodes/e.ts',
      'drivers/a.ts → kernel/db/schema/node.ts',
      'drivers/a.ts → networks/b.ts',
      'elsewhere/a.ts → model/b.ts',
      'nodes/a.ts → flows/c.ts',
    ]);
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
