import type { PlanView } from '#conductor/api/flows.ts';
import { foreign, type Html, html, nothing } from '#conductor/board/render/html.ts';
import type { BoardNode } from '#conductor/board/render/render-board.ts';
import { formatBytes, formatDuration } from '#conductor/cli/shell/format-units.ts';
import { stepTitle } from '#conductor/model/flows/planned-step.ts';

/** The plan of what would be done with a node, or why that can't be. */
export interface NodePlan {
  readonly node: BoardNode;
  readonly plan: PlanView | undefined;
  readonly refusal: string | undefined;
}

/** Limit of the lists of what many nodes would lose, and of what would be refused. */
const listed = 200;

const nameOf = ({ name, uuid }: BoardNode): Html => foreign(name ?? uuid);

/** Renders what is destroyed, what would be refused, what to know, and of a single node its steps. Pure. */
export function renderPlans(plans: readonly NodePlan[]): Html {
  const [only] = plans;
  const planned = plans.flatMap(({ node, plan }) => (plan ? [{ node, plan }] : []));
  const disks = planned.flatMap(({ node, plan }) => plan.destroys.map((disk) => ({ node, disk })));
  const warnings = Map.groupBy(
    planned.flatMap(({ plan }) => plan.warnings),
    (warning) => warning,
  );
  const kept = planned
    .map(({ node, plan }) => renderKept(plan.kept, plans.length === 1 ? nothing : html` of ${nameOf(node)}`))
    .slice(0, listed);
  const said = [...warnings].map(
    ([warning, same]) => html`<li>${foreign(warning)}${same.length > 1 && ` (${same.length} nodes)`}</li>`,
  );
  return html`${renderRefusals(plans)}${planned.length > 0 && renderDisks(disks)}${kept}
    ${said.length > 0 && html`<ul class="warnings">${said}</ul>`}
    ${plans.length === 1 && only?.plan && html`${renderSwitchPorts(only.plan)}${renderSteps(only.plan)}`}`;
}

function renderRefusals(plans: readonly NodePlan[]): Html {
  const refused = plans.filter(({ refusal }) => refusal !== undefined);
  if (refused.length === 0) return nothing;
  const lines = refused.map(({ node, refusal }) => html`<li>${nameOf(node)}: ${foreign(refusal)}</li>`);
  return html`<h3>Left out, as it would be refused</h3><ul>${some(lines, 'list')}</ul>`;
}

function renderDisks(
  disks: readonly { readonly node: BoardNode; readonly disk: PlanView['destroys'][number] }[],
): Html {
  if (disks.length === 0) return html`<p>No disk that is known of is written to.</p>`;
  const rows = disks.map(({ node, disk }) => {
    const size = disk.size_bytes === null ? '' : formatBytes(disk.size_bytes);
    const contents = disk.contents.length === 0 ? 'empty' : disk.contents.join(', ');
    const cells = [
      nameOf(node),
      foreign(disk.name),
      foreign(disk.serial ?? 'no serial number'),
      size,
      foreign(contents),
    ];
    return html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}<td>${foreign(disk.by.join(', '))}</td></tr>`;
  });
  const count = disks.length === 1 ? '1 disk' : `${disks.length} disks`;
  return html`<h3 class="destroys">Destroys what is on ${count}</h3>
    <table><thead><tr><th>Node</th><th>Disk</th><th>Serial</th><th>Size</th><th>Holds</th><th>By</th></tr></thead><tbody>${some(rows, 'table')}</tbody></table>`;
}

function renderKept(kept: PlanView['kept'], where: Html): Html {
  if (!kept) return nothing;
  const percent = Math.round((kept.bytes / kept.of_bytes) * 100);
  return html`<p>Keeps on the disk${where} up to ${formatBytes(kept.bytes)} (${percent} % of the image): chunks of image ${foreign(kept.image)}, which was written last</p>`;
}

function renderSwitchPorts({ switch_ports: ports }: PlanView): Html {
  if (ports.length === 0) return nothing;
  const rows = ports.map(({ address, switch_id: id, port_id: name, network, vlans, found, error }) => {
    const now = error === null ? (found ?? 'not read') : `not read: ${error}`;
    return html`<tr>${[address, `${id} ${name}`, now, network === null ? 'isolated' : `${network}, ${vlans}`].map((cell) => html`<td>${foreign(cell)}</td>`)}</tr>`;
  });
  return html`<h3>Switch ports while the instance runs</h3>
    <table><thead><tr><th>Port</th><th>Switch port</th><th>Now</th><th>Then</th></tr></thead><tbody>${some(rows, 'table')}</tbody></table>`;
}

function renderSteps(plan: PlanView): Html {
  const about = (seconds: number | null): string => (seconds === null ? '' : formatDuration(seconds * 1000));
  const rows = plan.steps.map(
    (step) =>
      html`<tr><td class="number">${step.position}</td><td>${foreign(stepTitle(step))}</td><td>${step.in_band ? 'agent' : 'conductor'}</td><td>${about(step.predicted_seconds)}</td><td>${foreign(step.reason)}</td></tr>`,
  );
  const time = plan.predicted_seconds === null ? '' : `, about ${about(plan.predicted_seconds)}`;
  return html`<h3>${plan.kind}: ${plan.steps.length} steps${time}</h3>
    <table><thead><tr><th>#</th><th>Step</th><th>By</th><th>About</th><th>Why it is there</th></tr></thead><tbody>${rows}</tbody></table>`;
}

function some(rows: readonly Html[], kind: 'table' | 'list'): Html {
  const more = rows.length - listed;
  if (more <= 0) return html`${rows}`;
  const line = `and ${more} more`;
  const last = kind === 'table' ? html`<tr><td colspan="6">${line}</td></tr>` : html`<li>${line}</li>`;
  return html`${rows.slice(0, listed)}${last}`;
}
