import type { PlanView } from '#conductor/api/flows.ts';
import { type BoardNode, escapeHtml, foreign } from '#conductor/board/render/render-board.ts';
import { formatBytes, formatDuration } from '#conductor/cli/shell/format-units.ts';
import { stepTitle } from '#conductor/model/planned-step.ts';

/** The plan of what would be done with a node, or why that can't be. */
export interface NodePlan {
  readonly node: BoardNode;
  readonly plan: PlanView | undefined;
  readonly refusal: string | undefined;
}

/** Limit of the lists of what many nodes would lose, and of what would be refused. */
const listed = 200;

const nameOf = ({ name, uuid }: BoardNode): string => foreign(name ?? uuid);

/** Renders what is destroyed, what would be refused, what to know, and of a single node its steps. Pure. */
export function renderPlans(plans: readonly NodePlan[]): string {
  const [only] = plans;
  const planned = plans.flatMap(({ node, plan }) => (plan ? [{ node, plan }] : []));
  const disks = planned.flatMap(({ node, plan }) => plan.destroys.map((disk) => ({ node, disk })));
  const warnings = Map.groupBy(
    planned.flatMap(({ plan }) => plan.warnings),
    (warning) => warning,
  );
  return [
    renderRefusals(plans),
    planned.length === 0 ? '' : renderDisks(disks),
    ...planned
      .map(({ node, plan }) => renderKept(plan.kept, plans.length === 1 ? '' : ` of ${nameOf(node)}`))
      .slice(0, listed),
    ...[...warnings].map(
      ([warning, same]) =>
        `<p class="warning">! ${foreign(warning)}${same.length > 1 ? ` (${same.length} nodes)` : ''}</p>`,
    ),
    plans.length === 1 && only?.plan ? renderSwitchPorts(only.plan) + renderSteps(only.plan) : '',
  ].join('');
}

function renderRefusals(plans: readonly NodePlan[]): string {
  const refused = plans.filter(({ refusal }) => refusal !== undefined);
  if (refused.length === 0) return '';
  const lines = refused.map(({ node, refusal }) => `<li>${nameOf(node)}: ${foreign(refusal ?? '')}</li>`);
  return `<h3>Left out, as it would be refused</h3><ul>${some(lines)}</ul>`;
}

function renderDisks(
  disks: readonly { readonly node: BoardNode; readonly disk: PlanView['destroys'][number] }[],
): string {
  if (disks.length === 0) return '<p>No disk that is known of is written to.</p>';
  const rows = disks.map(({ node, disk }) => {
    const size = disk.size_bytes === null ? '' : formatBytes(disk.size_bytes);
    const contents = disk.contents.length === 0 ? 'empty' : disk.contents.join(', ');
    const cells = [foreign(disk.name), foreign(disk.serial ?? 'no serial number'), escapeHtml(size), foreign(contents)];
    return `<tr><td>${nameOf(node)}<td>${cells.join('<td>')}<td>${foreign(disk.by.join(', '))}</tr>`;
  });
  const count = disks.length === 1 ? '1 disk' : `${disks.length} disks`;
  return `<h3 class="destroys">Destroys what is on ${count}</h3>
    <table><thead><tr><th>Node<th>Disk<th>Serial<th>Size<th>Holds<th>By</tr></thead><tbody>${some(rows)}</tbody></table>`;
}

function renderKept(kept: PlanView['kept'], where: string): string {
  if (!kept) return '';
  const percent = Math.round((kept.bytes / kept.of_bytes) * 100);
  return `<p>Keeps on the disk${where} up to ${formatBytes(kept.bytes)} (${percent} % of the image): chunks of image ${foreign(kept.image)}, which was written last</p>`;
}

function renderSwitchPorts({ switch_ports: ports }: PlanView): string {
  if (ports.length === 0) return '';
  const rows = ports.map(({ address, switch_id: id, port_id: name, network, vlans, found, error }) => {
    const now = error === null ? (found ?? 'not read') : `not read: ${error}`;
    return `<tr>${[address, `${id} ${name}`, now, network === null ? 'isolated' : `${network}, ${vlans}`].map((cell) => `<td>${foreign(cell)}`).join('')}</tr>`;
  });
  return `<h3>Switch ports while the instance runs</h3>
    <table><thead><tr><th>Port<th>Switch port<th>Now<th>Then</tr></thead><tbody>${some(rows)}</tbody></table>`;
}

function renderSteps(plan: PlanView): string {
  const about = (seconds: number | null): string => (seconds === null ? '' : formatDuration(seconds * 1000));
  const rows = plan.steps.map(
    (step) =>
      `<tr><td>${step.position}<td>${foreign(stepTitle(step))}<td>${step.in_band ? 'agent' : 'conductor'}<td>${about(step.predicted_seconds)}<td>${foreign(step.reason)}</tr>`,
  );
  const time = plan.predicted_seconds === null ? '' : `, about ${about(plan.predicted_seconds)}`;
  return `<h3>${escapeHtml(plan.kind)}: ${plan.steps.length} steps${time}</h3>
    <table><thead><tr><th>#<th>Step<th>By<th>About<th>Why it is there</tr></thead><tbody>${rows.join('')}</tbody></table>`;
}

function some(rows: readonly string[]): string {
  const more = rows.length - listed;
  const shown = rows.slice(0, listed).join('');
  if (more <= 0) return shown;
  const line = `and ${more} more`;
  return `${shown}${rows[0]?.startsWith('<tr') ? `<tr><td colspan="6">${line}</tr>` : `<li>${line}</li>`}`;
}
