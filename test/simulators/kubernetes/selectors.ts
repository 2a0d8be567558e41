import { badRequest } from '#test/simulators/kubernetes/refusal.ts';
import { type Json, phaseOf, type Resource } from '#test/simulators/kubernetes/resource.ts';

export type Selector = (object: Resource) => boolean;

/** `app=web,tier in (a, b),!old`, as `labelSelector` has it. @throws Refusal BadRequest */
export function labelSelector(text: string): Selector {
  const parts = text.split(/,(?![^(]*\))/).map((part) => part.trim());
  const tests = parts.filter((part) => part !== '').map(labelTest);
  return ({ metadata }) => tests.every((test) => test(metadata.labels ?? {}));
}

type LabelTest = (labels: Readonly<Record<string, string>>) => boolean;

function labelTest(text: string): LabelTest {
  const set = /^(\S+)\s+(in|notin)\s+\(([^)]*)\)$/.exec(text);
  if (set) {
    const [, key = '', operator, list = ''] = set;
    const values = list.split(',').map((value) => value.trim());
    return (labels) => values.includes(labels[key] ?? '\0') === (operator === 'in');
  }
  const equal = /^([^!=\s]+)\s*(==|=|!=)\s*(\S*)$/.exec(text);
  if (equal) {
    const [, key = '', operator, value] = equal;
    return (labels) => (labels[key] === value) === (operator !== '!=');
  }
  const exists = /^(!?)([^!=\s]+)$/.exec(text);
  if (!exists) throw badRequest(`unable to parse requirement: ${text}`);
  const [, not, key = ''] = exists;
  return (labels) => key in labels === (not === '');
}

const fields: Readonly<Record<string, (object: Resource) => string>> = {
  'metadata.name': ({ metadata }) => metadata.name,
  'metadata.namespace': ({ metadata }) => metadata.namespace ?? '',
  'spec.nodeName': ({ spec }) => textOf(spec?.['nodeName']),
  'spec.unschedulable': ({ spec }) => String(spec?.['unschedulable'] === true),
  'status.phase': phaseOf,
};

/** `spec.nodeName=n1,status.phase!=Running`. @throws Refusal BadRequest for fields that the API server does not select by */
export function fieldSelector(text: string): Selector {
  const tests = text
    .split(',')
    .filter((part) => part !== '')
    .map((part) => {
      const [, field = '', operator, value] = /^([^!=]+)(==|=|!=)(.*)$/.exec(part) ?? [];
      const read = fields[field];
      if (!read) throw badRequest(`field label not supported: ${field}`);
      return (object: Resource) => (read(object) === value) === (operator !== '!=');
    });
  return (object) => tests.every((test) => test(object));
}

/** `matchLabels` alone; an object without any selects nothing. */
export function matchesLabels(selector: Json | undefined, labels: Readonly<Record<string, string>> = {}): boolean {
  const { matchLabels } = (selector ?? {}) as { readonly matchLabels?: Readonly<Record<string, string>> };
  return matchLabels !== undefined && Object.entries(matchLabels).every(([key, value]) => labels[key] === value);
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
