import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import { readBmc } from '#agent/hardware/inventory-bmc.ts';
import { readBoards } from '#agent/hardware/inventory-boards.ts';
import { readHealth } from '#agent/hardware/inventory-health.ts';
import { readCpu, readMemory, readSystemVendor } from '#agent/machine/inventory-system.ts';
import { listPhysicalInterfaces } from '#agent/machine/network-interfaces.ts';
import { ranWell } from '#agent/testing/fake-services.ts';
import { AppError } from '#shared/errors/app-error.ts';
import { silentLog } from '#shared/log.ts';
import { isSameUuid, realUuid } from '#shared/machine-identity.ts';
import { type Run, run as runProgram } from '#shared/process/run.ts';

/** Recordings below `test/recorded/machines`: parts of a machine, or a whole one as `baton node record` makes it. */

const facts = z.record(z.string(), z.unknown());
/** Reading of a machine, by its parts. */
export const RecordedMachine = z
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
type Reading = z.infer<typeof RecordedMachine>;

/** Types of SMBIOS' structures that `dmidecode -t` of these words prints. */
const dmiTypes: Readonly<Record<string, readonly number[]>> = { '2': [2], '17': [17], memory: [5, 6, 16, 17] };

/**
 * Lays out files as the kernel shows them, and `dmidecode` as a program.
 * @returns the folder of the program
 */
export async function layOutMachine(root: string, outputs: Readonly<Record<string, string>>): Promise<string> {
  const programs = join(root, 'bin');
  await mkdir(programs);
  await writeFile(join(programs, 'dmidecode'), `#!/bin/sh\ncat "${root}/dmidecode -t $2" 2>/dev/null || exit 1\n`);
  await chmod(join(programs, 'dmidecode'), 0o755);
  for (const [name, text] of Object.entries({ ...structuresOf(outputs['dmidecode']), ...outputs })) {
    const [command = '', target = ''] = name.split(' ');
    if (!/^(\/|dmidecode -t|readlink )/.test(name)) continue;
    const path = join(root, command === 'readlink' ? target : name);
    await mkdir(dirname(path), { recursive: true });
    if (command === 'readlink') await symlink(text.trim(), path);
    else await writeFile(path, text);
  }
  return programs;
}

/** Picks out of `dmidecode`'s output what `dmidecode -t` would have printed. */
function structuresOf(all = ''): Readonly<Record<string, string>> {
  const structures = all
    .split(/\n(?=Handle 0x)/)
    .map((text) => ({ text, type: Number(/DMI type (\d+)/.exec(text)?.[1]) }));
  return Object.fromEntries(
    Object.entries(dmiTypes).flatMap(([word, types]) => {
      const found = structures.filter(({ type }) => types.includes(type));
      return found.length === 0 ? [] : [[`dmidecode -t ${word}`, found.map(({ text }) => text).join('\n')]];
    }),
  );
}

/** Reads the parts that `about` has, of a machine that is laid out below `root`. */
export async function readRecordedMachine(
  root: string,
  outputs: Readonly<Record<string, string>>,
  about: Reading,
): Promise<Reading> {
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
