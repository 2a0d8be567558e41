import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkManager } from '#agent/custom/load-custom-hardware.ts';
import { genericHardwareManager } from '#agent/hardware/generic.ts';
import { steps as agentSteps } from '#agent/steps/index.ts';
import { commands } from '#conductor/cli/commands.ts';
import type { DriverDefinition } from '#conductor/drivers/driver-definition.ts';
import { driverTable } from '#conductor/drivers/table/driver-table.ts';
import { reservedStepNames } from '#conductor/flows/plan/step-args.ts';
import type { FlowKind } from '#conductor/model/flows/flow-kind.ts';
import { flowKinds, isBesideStates, restsIn } from '#conductor/model/flows/flow-kinds.ts';
import { isSecretName } from '#conductor/model/secret-names.ts';
import { conductorSteps } from '#conductor/start/conductor-steps.ts';
import { errorChain } from '#shared/errors/app-error.ts';
import { pluginTaskStep } from '#shared/wire/step.ts';
import { isProduct, listFiles } from './house/read-sources.ts';

/** The "add a …" lists of CONTRIBUTING.md: what is forgotten is said in one sentence for each part. */

const root = join(import.meta.dirname, '..');

async function codeFiles(folder: string): Promise<string[]> {
  const names = await readdir(join(root, folder));
  return names.filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts') && name !== 'index.ts').sort();
}

function expectNothing(forgotten: readonly string[]): void {
  // not `expect`, which would repeat the sentences in a difference
  if (forgotten.length > 0) throw new Error(forgotten.join('\n'));
}

const keyOf = (step: { readonly interface: string; readonly step: string }) => `${step.interface}.${step.step}`;

describe('an in-band step', () => {
  test('is listed in agent/steps/index.ts', async () => {
    const files = await codeFiles('agent/steps');
    expect(files.length).toBeGreaterThan(5);
    const listed = await Promise.all(
      files.map(async (file) => {
        const exported: Record<string, unknown> = await import(join(root, 'agent/steps', file));
        const values: unknown[] = Object.values(exported).flat();
        const found = values.filter((value) => typeof value === 'object' && value !== null && 'step' in value);
        const isListed = found.length > 0 && found.every((value) => agentSteps.some((step) => step === value));
        return isListed ? '' : `agent/steps/${file}: its step is not listed in \`steps\` of agent/steps/index.ts`;
      }),
    );
    expectNothing(listed.filter((fault) => fault !== ''));
  });

  test('says everything about itself', () => {
    const parts = ['interface', 'step', 'description', 'priorities', 'destroys', 'args', 'run'] as const;
    const faults = agentSteps.map((step) => {
      const name = `step ${keyOf(step)}`;
      const lacking = parts.filter((part) => step[part] === undefined);
      if (lacking.length > 0) return `${name}: its defineStep lacks ${lacking.join(' and ')}`;
      if (step.destroys === 'unknown' && keyOf(step) !== keyOf(pluginTaskStep)) {
        return `${name}: destroys must be none, root disk or all, so that plans can say it`;
      }
      try {
        checkManager(name, { hardwareManager: { ...genericHardwareManager, steps: [step] } });
        return '';
      } catch (error) {
        return errorChain(error).replaceAll('steps.0.', '');
      }
    });
    expectNothing(faults.filter((fault) => fault !== ''));
  });
});

describe('a driver', () => {
  const drivers = Object.entries<DriverDefinition>(driverTable);

  test('is listed in conductor/drivers/table/driver-table.ts, under the name of its folder', async () => {
    const entries = await readdir(join(root, 'conductor/drivers'), { withFileTypes: true });
    const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
    expect(folders.length).toBeGreaterThan(2);
    expectNothing([
      ...folders
        .filter((folder) => folder !== 'table' && !Object.hasOwn(driverTable, folder))
        .map(
          (folder) =>
            `conductor/drivers/${folder}: its driver is not listed in conductor/drivers/table/driver-table.ts`,
        ),
      ...drivers
        .filter(([folder]) => !folders.includes(folder))
        .map(([folder]) => `driver ${folder} must be in a folder of its own, conductor/drivers/${folder}`),
    ]);
  });

  test('says everything about itself', () => {
    const parts = ['name', 'fields', 'interfaces', 'site', 'open'] as const;
    expectNothing(
      drivers.flatMap(([folder, driver]) => {
        const lacking = parts.filter((part) => driver[part] === undefined);
        if (lacking.length > 0) return `driver ${folder}: its definition lacks ${lacking.join(' and ')}`;
        const unknown = Object.values(driver.bmc ?? {}).filter((field) => !Object.hasOwn(driver.fields, field));
        return [
          ...unknown.map((field) => `driver ${folder}: bmc names ${field}, which is not among its fields`),
          ...Object.entries(driver.fields).flatMap(([field, { meaning, secret }]) => [
            ...(/Required|Optional/.test(meaning)
              ? []
              : [`driver ${folder}: the meaning of ${field} must say Required or Optional`]),
            ...((isSecretName(field) || /\bpassword\b/i.test(meaning)) === (secret !== undefined) &&
            (secret === undefined || isSecretName(field))
              ? []
              : [
                  secret
                    ? `driver ${folder}: ${field} is a secret, but has no name by which model/secret-names.ts knows it (such as …_password)`
                    : `driver ${folder}: ${field} has a secret's name: say by which fields it is sent (\`secret\`)`,
                ]),
            ...(secret?.sentBy ?? [])
              .filter((name) => !Object.hasOwn(driver.fields, name))
              .map((name) => `driver ${folder}: ${field} is sent by ${name}, which is not among its fields`),
          ]),
        ];
      }),
    );
  });

  test('has names of its own', () => {
    const names = drivers.flatMap(([, { name }]) => name);
    const types = drivers.flatMap(([, { site }]) => site.types);
    const twice = (all: readonly string[]) => all.filter((name, index) => all.indexOf(name) !== index);
    expectNothing([
      ...twice(names).map((name) => `two drivers have the name ${name}`),
      ...twice(types).map((type) => `two drivers have the site type ${type}`),
    ]);
  });
});

test('a command of the CLI is listed in conductor/cli/commands.ts', async () => {
  const listed = new Set(commands);
  const files = (await listFiles(root, 'conductor/cli', '.ts')).filter((path) => isProduct({ path }));
  const forgotten = await Promise.all(
    files.map(async (file) => {
      const text = await readFile(join(root, file), 'utf8');
      const names = [...text.matchAll(/^export const (\w+): (?:readonly )?Command(?:\[\])? = /gm)].map(
        ([, name]) => name!,
      );
      const module = (await import(join(root, file))) as Record<string, (typeof commands)[number]>;
      return names
        .filter((name) => ![module[name]!].flat().every((command) => listed.has(command)))
        .map((name) => `${file}: ${name} is not listed in \`commands\` of conductor/cli/commands.ts`);
    }),
  );
  expectNothing(forgotten.flat());
});

describe('a flow kind', () => {
  const kinds = Object.entries<FlowKind>(flowKinds);

  test('has a scenario', async () => {
    const text = await readFile(join(root, 'test/support/flow-scenarios.ts'), 'utf8');
    const named = [...text.matchAll(/flow: '(\w+)'/g)].map(([, kind = '']) => kind);
    expectNothing([
      ...named
        .filter((kind) => !Object.hasOwn(flowKinds, kind))
        .map((kind) => `flow kind ${kind} has a scenario, but no row in conductor/model/flows/flow-kinds.ts`),
      ...kinds
        // it has a test of its own: every-flow-wipe.test.ts
        .filter(([kind]) => kind !== 'wipe' && !named.includes(kind))
        .map(([kind]) => `flow kind ${kind} has no scenario in test/support/flow-scenarios.ts`),
    ]);
  });

  test('says everything about itself', () => {
    const parts = ['doing', 'afterFailure', 'events', 'opening', 'sorted', 'closing', 'cleanup'] as const;
    expectNothing(
      kinds.flatMap(([kind, row]) => {
        const lacking = parts.filter((part) => row[part] === undefined);
        if (lacking.length > 0) return `flow kind ${kind}: its row in flow-kinds.ts lacks ${lacking.join(' and ')}`;
        if (isBesideStates(row)) return [];
        if (row.during === undefined) return `flow kind ${kind}: its row lacks during, the state that its node is in`;
        if (restsIn(row) !== undefined) return [];
        return `flow kind ${kind}: provision-states.ts has no way from '${row.during}' by its event '${row.events.fail}'`;
      }),
    );
  });

  test('has steps that something runs, and each of these has a place', () => {
    const wanted = kinds.flatMap(([kind, row]) =>
      [
        ...row.opening,
        ...row.sorted,
        ...row.closing,
        ...(row.beforeWipe ?? []),
        ...row.cleanup,
        ...(row.giveBack ?? []),
      ].map((step) => ({ kind, key: keyOf(step) })),
    );
    // what follows a step, what stands in another's place, and what an operator may list
    const others = [
      'deploy.reboot_ramdisk',
      'deploy.gather_steps',
      'deploy.run_plugin_task',
      'deploy.fake_deploy',
      ...reservedStepNames,
    ];
    const run = conductorSteps.map(keyOf);
    const placed = new Set([...wanted.map(({ key }) => key), ...others]);
    expectNothing([
      ...wanted
        .filter(({ key }) => !run.includes(key))
        .map(({ kind, key }) => `flow kind ${kind}: no step ${key} in conductor/start/conductor-steps.ts runs it`),
      ...others
        .filter((key) => !run.includes(key))
        .map((key) => `nothing in conductor/start/conductor-steps.ts runs ${key}`),
      ...run
        .filter((key) => !placed.has(key))
        .map((key) => `step ${key} has no place in conductor/model/flows/flow-kinds.ts`),
      ...run.filter((key, index) => run.indexOf(key) !== index).map((key) => `step ${key} is listed twice`),
    ]);
  });
});

test('fast-check tries the same cases in every run', async () => {
  const folders = ['agent', 'conductor', 'shared', 'image-build', 'test'];
  const listed = folders.map(async (folder) =>
    (await readdir(join(root, folder), { recursive: true })).map((name) => join(folder, name)),
  );
  const names = (await Promise.all(listed)).flat().filter((name) => name.endsWith('.ts'));
  const drawing = await Promise.all(
    names.map(async (name) =>
      /^import .* from 'fast-check';$/m.test(await readFile(join(root, name), 'utf8')) ? name : [],
    ),
  );
  // all others have it from there
  expect(drawing.flat()).toEqual(['test/fuzz/fast-check.ts']);
});
