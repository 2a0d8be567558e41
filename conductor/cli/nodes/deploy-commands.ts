import type { PlanView } from '#conductor/api/flows.ts';
import type { NodeAnswer } from '#conductor/api/resources.ts';
import {
  changesForImage,
  imageOptions,
  noteImage,
  readConfigDrive,
  readImage,
  wipeOf,
  wipeOptions,
} from '#conductor/cli/nodes/instance-options.ts';
import { provision, readTimeout, waitOptions } from '#conductor/cli/nodes/provision.ts';
import { disableRamdisk } from '#conductor/cli/nodes/state-commands.ts';
import { answerFor, getNode, type Json } from '#conductor/cli/shell/api-client.ts';
import {
  type Command,
  type CommandContext,
  type CommandInput,
  type CommandOption,
  flagOption,
  pathOperand,
  textOption,
} from '#conductor/cli/shell/command.ts';
import { formatBytes, formatDuration } from '#conductor/cli/shell/format-units.ts';
import { readSteps } from '#conductor/cli/shell/input-files.ts';
import { onNodes } from '#conductor/cli/shell/on-nodes.ts';
import { cell, print, table } from '#conductor/cli/shell/print.ts';
import { stepTitle } from '#conductor/model/flows/planned-step.ts';
import { legalVerbs, type ProvisionVerb } from '#conductor/model/provision-states.ts';
import { AppError } from '#shared/errors/app-error.ts';

/** A plan as tables: the steps with the reason for each one's place, what is destroyed, what it comes to. Pure. */
export function renderPlan(plan: PlanView): string {
  const steps = plan.steps.map((step) => [
    String(step.position),
    step.priority > 0 ? String(step.priority) : '',
    stepTitle(step),
    step.in_band ? 'agent' : '',
    duration(step.predicted_seconds),
    `${step.reason}${step.reboot_requested ? ' (then reboots)' : ''}`,
  ]);
  const parts = [
    table([['#', 'prio', 'step', 'by', 'about', 'why it is there'], ...steps]),
    ...argsPart(plan),
    ...networksPart(plan),
    ...destroysPart(plan),
    ...protectsPart(plan),
    ...keptPart(plan),
    summary(plan),
    ...(plan.warnings.length === 0 ? [] : [plan.warnings.map((warning) => `! ${warning}\n`).join('')]),
    `hash ${plan.hash}\n`,
  ];
  return parts.join('\n');
}

function argsPart(plan: PlanView): string[] {
  const rows = plan.steps
    .filter(({ args }) => typeof args === 'object' && args !== null && Object.keys(args).length > 0)
    .map((step) => [`  ${step.position}`, stepTitle(step), cell(step.args)]);
  return rows.length === 0 ? [] : [`arguments:\n${table(rows)}`];
}

function networksPart(plan: PlanView): string[] {
  const rows = plan.switch_ports.map((port) => [
    `  ${port.address}`,
    `${port.switch_id} ${port.port_id}`,
    port.network ?? '-',
    port.vlans,
    port.error === null ? `now ${cell(port.found)}` : 'not read',
  ]);
  if (rows.length === 0) return [];
  const commands = plan.switch_ports.flatMap((port) => port.commands.map((command) => `  ${command}`));
  const errors = new Set(plan.switch_ports.flatMap(({ error }) => (error === null ? [] : [`  ! ${cell(error)}`])));
  return [
    `switch ports while the instance runs:\n${table(rows)}`,
    ...(commands.length === 0 ? [] : [`from what they are now, the switches are sent:\n${commands.join('\n')}\n`]),
    ...(errors.size === 0 ? [] : [`switches that could not be read:\n${[...errors].join('\n')}\n`]),
  ];
}

function destroysPart(plan: PlanView): string[] {
  if (plan.destroys.length === 0) return [];
  const rows = plan.destroys.map((disk) => [
    `  ${disk.name}`,
    disk.serial ?? 'no serial number',
    disk.model ?? '-',
    disk.size_bytes === null ? '-' : formatBytes(disk.size_bytes),
    disk.contents.length === 0 ? 'empty' : disk.contents.join(', '),
    `by ${disk.by.join(', ')}`,
  ]);
  return [`DESTROYS what is on:\n${table(rows)}`];
}

function protectsPart({ protects = [] }: PlanView): string[] {
  if (protects.length === 0) return [];
  const rows = protects.map(({ entry, devices }) => [`  ${cell(entry)}`, devices.map(cell).join(', ') || 'NO DISK']);
  return [`protects:\n${table(rows)}`];
}

function keptPart({ kept }: PlanView): string[] {
  if (!kept) return [];
  const percent = Math.floor((100 * kept.bytes) / kept.of_bytes);
  return [
    `KEEPS on the disk up to ${formatBytes(kept.bytes)} (${percent} % of the image): chunks of image ${kept.image}, which was written last\n`,
  ];
}

function summary(plan: PlanView): string {
  const time = plan.predicted_seconds === null ? 'time not known' : `about ${duration(plan.predicted_seconds)}`;
  const reboots = plan.reboots === 1 ? '1 reboot' : `${plan.reboots} reboots`;
  return `${plan.kind}: ${plan.steps.length} steps, ${reboots}, ${plan.boot_mode} boot, ${time}\n`;
}

function duration(seconds: number | null): string {
  return seconds === null ? '' : formatDuration(seconds * 1000);
}

/** Words for targets on the command line. */
const wordOf: Readonly<Partial<Record<string, string>>> = { active: 'deploy', deleted: 'undeploy' };

/**
 * Why the conductor would refuse to set the node off as it is now; `undefined` = it would not. Pure.
 * @param verb a target of the API
 * @param forRebuild what to say of a node whose image can be written again
 */
function whyRefused(node: NodeAnswer, verb: string, forRebuild: string): string | undefined {
  const name = cell(node.name ?? node.uuid);
  const refused = `${wordOf[verb] ?? verb} would be refused`;
  const state = node.provision_state;
  const legal: readonly ProvisionVerb[] = state === undefined ? [] : legalVerbs(state);
  if (state !== undefined && !legal.some((each) => each === verb)) {
    return `node ${name} is ${state}: ${refused}; ${legal.includes('rebuild') ? forRebuild : words(legal)}`;
  }
  if (node.maintenance) return `node ${name} is in maintenance: ${refused}`;
  if (verb === 'rebuild' && node.protected) return `node ${name} is protected: ${refused}`;
  return undefined;
}

function words(legal: readonly ProvisionVerb[]): string {
  const known = [...new Set(legal.map((verb) => wordOf[verb] ?? verb))];
  return `possible now: ${known.join(', ') || 'nothing, until the work under way ends'}`;
}

const deploySteps: CommandOption = {
  value: 'FILE',
  meaning: 'steps of your own, JSON or YAML: a list of {interface, step, args, priority}',
};

const deployOptions = {
  ...imageOptions,
  'config-drive': { value: 'FILE', meaning: 'JSON {meta_data, user_data, network_data}, or base64 of a gzipped ISO' },
  'deploy-steps': deploySteps,
  'plan-hash': { value: 'HASH', meaning: 'of the plan that you have read: refused if it has changed since' },
  ...waitOptions,
} as const;

const driveHelp =
  'Without --image it is the one that instance_info has. A file for --config-drive, of which each key may be missing:\n' +
  '  {"meta_data": {"hostname": "web1", "public_keys": {"ops": "ssh-ed25519 …"}},\n' +
  '   "user_data": "#cloud-config\\npackages: [nginx]\\n",\n' +
  '   "network_data": {"links": […], "networks": […], "services": […]}}';

const listOf: Readonly<Record<string, string>> = { clean: 'clean_steps', service: 'service_steps' };

async function plan(context: CommandContext, input: CommandInput): Promise<void> {
  const ident = pathOperand(input);
  const target = textOption(input, 'target') ?? 'active';
  const image = readImage(input);
  const file = textOption(input, 'deploy-steps') ?? textOption(input, 'steps');
  const key = listOf[target] ?? 'deploy_steps';
  const runbook = textOption(input, 'runbook');
  const steps = {
    ...(file === undefined ? {} : { [key]: await readSteps('--deploy-steps, --steps', file, key) }),
    ...(flagOption(input, 'disable-ramdisk') ? { disable_ramdisk: true } : {}),
    ...(runbook === undefined ? {} : { runbook }),
  };
  const wipe = wipeOf(input);
  const node = await getNode(context.client, ident);
  const instance = image === undefined ? {} : { instance_info: changesForImage(node, image) };
  const request = { target, ...instance, ...steps, ...wipe };
  const answer = await answerFor<PlanView>(context.client, 'read the plan', 'POST', `/v1/nodes/${ident}/plan`, request);
  print(context, input, { json: answer, text: renderPlan(answer) });
  if (answer.refused) throw new AppError('conflict', `it would be refused: ${answer.refused.message}`);
  if (answer.refused === null) return;
  // a conductor of an older release doesn't say; a wipe comes after the release of an instance too
  if (wipe.wipe !== undefined && whyRefused(node, 'deleted', '') === undefined) return;
  const refusal = whyRefused(node, target, '--target rebuild plans a rebuild');
  if (refusal !== undefined) throw new AppError('conflict', refusal);
}

function deployTo(target: 'active' | 'rebuild'): Command['run'] {
  return async (context, input) => {
    const ident = pathOperand(input);
    const image = readImage(input);
    const drive = textOption(input, 'config-drive');
    const steps = textOption(input, 'deploy-steps');
    const hash = textOption(input, 'plan-hash');
    readTimeout(input);
    // files first: a wrong name must leave the node as it was
    const body: Json & { target: string } = {
      target,
      ...(drive === undefined ? {} : { configdrive: await readConfigDrive(drive) }),
      ...(steps === undefined ? {} : { deploy_steps: await readSteps('--deploy-steps', steps, 'deploy_steps') }),
      ...(hash === undefined ? {} : { plan_hash: hash }),
    };
    if (image !== undefined) {
      const node = await getNode(context.client, ident);
      // an instance that stays must not be said to be made of another image
      const refusal = whyRefused(node, target, 'baton rebuild writes its image again');
      if (refusal !== undefined) throw new AppError('conflict', refusal);
      await noteImage(context.client, node, image);
    }
    await provision(context, input, ident, body);
  };
}

export const deployCommands: readonly Command[] = [
  {
    words: 'plan',
    operands: ['NODE'],
    options: {
      target: { value: 'VERB', meaning: 'active (default), rebuild, provide, clean, service, inspect' },
      ...imageOptions,
      'deploy-steps': deploySteps,
      steps: { value: 'FILE', meaning: 'for clean and service: the steps, in their order' },
      'disable-ramdisk': disableRamdisk,
      runbook: { value: 'NAME', meaning: 'for clean and service: a runbook in place of steps' },
      ...wipeOptions,
      wipe: { meaning: 'with --target provide: the wipe that comes in place of cleaning, also after an undeploy' },
    },
    meaning: 'what would happen, step by step; the machine is not touched',
    details:
      'Each step with the reason for its place, the disks that lose their contents, reboots and time. The hash below\n' +
      'goes with `baton deploy --plan-hash`, and the same --image and --checksum. Nothing is noted on the node.\n' +
      'It ends with 1 and says why when the request would be refused now.',
    run: plan,
  },
  onNodes({
    words: 'deploy',
    operands: ['NODE'],
    options: deployOptions,
    meaning: 'write an image to an available node',
    details: driveHelp,
    run: deployTo('active'),
  }),
  onNodes({
    words: 'rebuild',
    operands: ['NODE'],
    options: deployOptions,
    meaning: 'write the image of an active node again',
    details: driveHelp,
    run: deployTo('rebuild'),
  }),
];
