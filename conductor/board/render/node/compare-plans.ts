import type { PlanView } from '#conductor/api/flows.ts';
import { foreign, type Html, html, nothing } from '#conductor/board/render/html.ts';
import { stepTitle } from '#conductor/model/flows/planned-step.ts';

/** A plan, and what the node said that it was made from. */
export interface ReadPlan {
  readonly plan: PlanView;
  readonly given: Readonly<Record<string, unknown>>;
}

/**
 * Lists what has changed since a plan was read, a line each: `+` is new, `−` has gone, `~` is other than before. Pure.
 */
export function comparePlans(before: ReadPlan, now: ReadPlan): string[] {
  const steps = compareLists(stepsOf(before.plan), stepsOf(now.plan));
  const disks = compareLists(disksOf(before.plan), disksOf(now.plan));
  const given = compareLists(givenOf(before), givenOf(now));
  const isMoved = steps.length === 0 && orderOf(before.plan) !== orderOf(now.plan);
  const mode =
    before.plan.boot_mode === now.plan.boot_mode
      ? []
      : [`~ boot mode: ${before.plan.boot_mode} → ${now.plan.boot_mode}`];
  return [...given, ...disks, ...steps, ...(isMoved ? ['~ the order of the steps'] : []), ...mode];
}

/** Pure. */
export function renderComparison(before: ReadPlan, now: ReadPlan): Html {
  if (before.plan.hash === now.plan.hash) return nothing;
  const lines = comparePlans(before, now).map((line) => html`<li>${foreign(line)}</li>`);
  const what = lines.length > 0 ? lines : html`<li>nothing that is shown: secrets, or the config drive</li>`;
  return html`<h3>The plan has changed since it was read</h3><ul class="changes">${what}</ul>
    <p>It was <code>${before.plan.hash.slice(0, 12)}</code>, and is <code>${now.plan.hash.slice(0, 12)}</code> now:</p>`;
}

type Named = ReadonlyMap<string, string>;

function compareLists(before: Named, now: Named): string[] {
  const gone = [...before.keys()].filter((name) => !now.has(name)).map((name) => `− ${name}`);
  const rest = [...now].flatMap(([name, value]) => {
    const former = before.get(name);
    if (former === undefined) return [`+ ${name}${value === '' ? '' : `: ${value}`}`];
    return former === value ? [] : [`~ ${name}: ${former} → ${value}`];
  });
  return [...gone, ...rest];
}

/** A step that occurs twice is shown with its count. */
function stepsOf({ steps }: PlanView): Named {
  const found = new Map<string, string>();
  for (const step of steps) {
    const title = stepTitle(step);
    const count = [...found.keys()].filter((name) => name === title || name.startsWith(`${title} (`)).length;
    const args = JSON.stringify(step.args ?? {});
    found.set(
      count === 0 ? title : `${title} (${count + 1})`,
      `priority ${step.priority}${args === '{}' ? '' : `, ${args}`}`,
    );
  }
  return found;
}

const orderOf = ({ steps }: PlanView): string => steps.map(stepTitle).join('\n');

function disksOf({ destroys }: PlanView): Named {
  return new Map(
    destroys.map(({ name, serial, contents, by }) => [
      `destroys disk ${serial ?? name}`,
      `${contents.join(', ') || 'empty'}, by ${by.join(', ')}`,
    ]),
  );
}

/** `instance_info.image_source` */
function givenOf({ given }: ReadPlan): Named {
  const found = new Map<string, string>();
  for (const [field, value] of Object.entries(given)) {
    const keys = typeof value === 'object' && value !== null ? Object.entries(value) : [];
    for (const [key, each] of keys) found.set(`${field}.${key}`, JSON.stringify(each));
  }
  return found;
}
