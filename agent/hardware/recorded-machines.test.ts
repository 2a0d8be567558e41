import { chmod, mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { readBmc } from '#agent/hardware/inventory-bmc.ts';
import { readBoards } from '#agent/hardware/inventory-boards.ts';
import { readHealth } from '#agent/hardware/inventory-health.ts';
import { readCpu, readMemory, readSystemVendor } from '#agent/hardware/inventory-system.ts';
import { listPhysicalInterfaces } from '#agent/hardware/network-interfaces.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { isSameUuid, realUuid } from '#shared/machine-identity.ts';
import { type Run, run as runProgram } from '#shared/process/run.ts';
import { readRecordings } from '#test/recorded/read-recordings.ts';

const facts = z.record(z.string(), z.unknown());
const Reading = z
  .strictObject({
    system: facts,
    /** The same machine's UUID as others show it. */
    same_as: z.string(),
    board: facts,
    slots: z.number().nullable(),
    modules: z.array(facts).nullable(),
    memory: facts,
    cpu: facts,
    /** MAC addresses of the machine's own cards. */
    cards: z.record(z.string(), z.string()),
    bmc: facts,
    firmware: z.string().nullable(),
    health: facts.nullable(),
  })
  .partial();
type Reading = z.infer<typeof Reading>;

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'baton-recorded-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(root, { recursive: true });
});

const recordings = await readRecordings('machines', Reading);

test.each(recordings)('$name: $shows', async ({ outputs, reading }) => {
  await layOut(outputs);
  const found = await read(outputs, reading);
  expect(found).toMatchObject(reading);
  // nothing is among them that is not the machine's
  expect(found.cards).toEqual(reading.cards);
});

/** Files as the kernel shows them, and `dmidecode` as a program. */
async function layOut(outputs: Readonly<Record<string, string>>): Promise<void> {
  const programs = join(root, 'bin');
  await mkdir(programs);
  await writeFile(join(programs, 'dmidecode'), `#!/bin/sh\ncat "${root}/dmidecode -t $2" 2>/dev/null || exit 1\n`);
  await chmod(join(programs, 'dmidecode'), 0o755);
  vi.stubEnv('PATH', `${programs}:/usr/bin:/bin`);
  for (const [name, text] of Object.entries(outputs)) {
    const [command = '', target = ''] = name.split(' ');
    const path = join(root, command === 'readlink' ? target : name);
    await mkdir(dirname(path), { recursive: true });
    if (command === 'readlink') await symlink(text.trim(), path);
    else await writeFile(path, text);
  }
}

async function read(outputs: Readonly<Record<string, string>>, about: Reading): Promise<Reading> {
  const roots = { sys: join(root, 'sys'), proc: join(root, 'proc') };
  const found: Reading = {};
  if (about.system) found.system = { ...(await readSystemVendor(roots)) };
  if (about.same_as !== undefined) {
    const [own, other] = [realUuid(String(found.system?.['baton_system_uuid'])), realUuid(about.same_as)];
    found.same_as = own !== null && other !== null && isSameUuid(own, other) ? about.same_as : 'another';
  }
  if (about.board || about.modules !== undefined) {
    const { board, slots, modules } = await readBoards(runProgram);
    Object.assign(found, { board, slots, modules });
  }
  if (about.memory) found.memory = await readMemory(roots);
  if (about.cpu) found.cpu = { ...(await readCpu(roots)) };
  if (about.cards) {
    const cards = await listPhysicalInterfaces(roots.sys);
    found.cards = Object.fromEntries(cards.map(({ name, macAddress }) => [name, macAddress]));
  }
  const run = printed(outputs);
  if (about.bmc) found.bmc = { ...(await readBmc(run)) };
  if (about.health !== undefined) Object.assign(found, await readHealth(run, '/dev/sd', silentLog));
  return found;
}

/** Programs that print what was recorded; `exit 1: text` is a failure. */
function printed(outputs: Readonly<Record<string, string>>): Run {
  return (command, args) => {
    const line = command === 'smartctl' ? Object.keys(outputs).find((each) => each.startsWith(command)) : undefined;
    const text = outputs[line ?? [command, ...args].join(' ')] ?? 'exit 1: Invalid channel\n';
    const failure = /^exit (\d+): (.*)$/m.exec(text);
    if (!failure) return Promise.resolve(ranWell(text));
    const details = { exitCode: Number(failure[1]) };
    return Promise.reject(new AppError('command_failed', `${command}: ${failure[2] ?? ''}`, { details }));
  };
}
