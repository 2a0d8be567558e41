import type { PlanView } from '#conductor/api/flows.ts';
import { formatBytes, formatDuration } from '#conductor/cli/format-units.ts';
import { cell, table } from '#conductor/cli/print.ts';
import { stepTitle } from '#conductor/model/planned-step.ts';

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

function summary(plan: PlanView): string {
  const time = plan.predicted_seconds === null ? 'time not known' : `about ${duration(plan.predicted_seconds)}`;
  const reboots = plan.reboots === 1 ? '1 reboot' : `${plan.reboots} reboots`;
  return `${plan.kind}: ${plan.steps.length} steps, ${reboots}, ${plan.boot_mode} boot, ${time}\n`;
}

function duration(seconds: number | null): string {
  return seconds === null ? '' : formatDuration(seconds * 1000);
}
