import { z } from 'zod';
import { installBootloader } from '#agent/boot/install-bootloader.ts';
import { AgentFault } from '#agent/commands/agent-fault.ts';
import { collectSystemLogs } from '#agent/commands/collect-system-logs.ts';
import { type CommandDefinition, defineCommand } from '#agent/commands/command.ts';
import { finalizeRescue } from '#agent/commands/finalize-rescue.ts';
import { getPartitionUuids, parkForKexec, powerOff, sync } from '#agent/commands/standby.ts';
import { executeStepCommand, getStepsCommand } from '#agent/commands/step-commands.ts';
import { tpmQuote } from '#agent/commands/tpm-quote.ts';
import { proveKernel } from '#agent/kexec/prove-kernel.ts';

/** `image.install_bootloader`: makes the written disk boot (agent-protocol.md §6.4). */
const installBootloaderCommand = defineCommand({
  kind: 'async',
  params: z.strictObject({
    root_uuid: z.string().nullish(),
    efi_system_part_uuid: z.string().nullish(),
    prep_boot_part_uuid: z.string().nullish(),
    target_boot_mode: z.enum(['bios', 'uefi']).default('bios'),
    ignore_bootloader_failure: z.boolean().nullish(),
  }),
  run: async (services, params) => {
    const { run, log, writtenImage } = services;
    const imagePolicy = services.imagePolicy?.() ?? {};
    const context = { run, log, writtenImage, imagePolicy, node: services.node() };
    const warnings = await installBootloader(context, params, proveKernel);
    // in the shape of steps' results, of which the conductor shows what the step has answered
    return warnings.length > 0 ? { bootloader_result: { warnings } } : null;
  },
});

const getHardwareInfo = defineCommand({
  kind: 'sync',
  params: z.strictObject({}),
  run: ({ inventory }) => inventory(),
});

/** Ours: what switches say to the cards, from the first question on, beside whatever else the agent does. */
const getHeardLldp = defineCommand({
  kind: 'sync',
  whileBusy: true,
  params: z.strictObject({}),
  run: ({ heardLldp }) => heardLldp(),
});

/** Closes the API and takes network links down: for machines whose power the conductor does not control. */
const lockdown = defineCommand({
  kind: 'sync',
  params: z.strictObject({}),
  run: (services) => {
    services.lockdown();
    return Promise.resolve(null);
  },
});

/** Extension → command → what it does. */
export type CommandTable = Readonly<Record<string, Readonly<Record<string, CommandDefinition>>>>;

/** The commands of agent-protocol.md §4.1 that Baton's agent has. */
export const commandTable: CommandTable = {
  deploy: {
    get_deploy_steps: getStepsCommand('deploy'),
    execute_deploy_step: executeStepCommand('deploy'),
  },
  clean: {
    get_clean_steps: getStepsCommand('clean'),
    execute_clean_step: executeStepCommand('clean'),
  },
  service: {
    get_service_steps: getStepsCommand('service'),
    execute_service_step: executeStepCommand('service'),
  },
  standby: { power_off: powerOff, sync, get_partition_uuids: getPartitionUuids, park_for_kexec: parkForKexec },
  image: { install_bootloader: installBootloaderCommand },
  log: { collect_system_logs: collectSystemLogs },
  rescue: { finalize_rescue: finalizeRescue() },
  poll: { get_hardware_info: getHardwareInfo, get_heard_lldp: getHeardLldp },
  system: { lockdown },
  tpm: { quote: tpmQuote },
};

/** @throws AgentFault `InvalidCommandError` or `RequestedObjectNotFoundError` with the texts of Ironic's agent */
export function findCommand(
  table: CommandTable,
  name: string,
): { readonly command: string; readonly definition: CommandDefinition } {
  const at = name.indexOf('.');
  if (at < 0) {
    throw new AgentFault('InvalidCommandError', 'Command name must be of the form <extension>.<name>');
  }
  const [extension, command] = [name.slice(0, at), name.slice(at + 1)];
  const commands = Object.hasOwn(table, extension) ? table[extension] : undefined;
  if (!commands) throw new AgentFault('RequestedObjectNotFoundError', `Extension with id ${extension} not found.`);
  const definition = Object.hasOwn(commands, command) ? commands[command] : undefined;
  if (!definition) throw new AgentFault('InvalidCommandError', `Unknown command: ${command}`);
  return { command, definition };
}
