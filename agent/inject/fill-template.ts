import { AppError } from '#shared/errors/app-error.ts';

/**
 * Fills in `{node[uuid]}`, `{node[properties][cpu_arch]}`, `{ports[0][address]}`, as Python's `str.format` does for
 * ironic-python-agent; `{{` and `}}` stand for braces.
 * @throws AppError `invalid_argument` naming the place that stands for nothing.
 */
export function fillTemplate(template: string, values: Readonly<Record<string, unknown>>): string {
  return template.replaceAll(/\{\{|\}\}|\{([^{}]*)\}/g, (found, place: string | undefined) => {
    if (found === '{{') return '{';
    if (found === '}}') return '}';
    return lookUp(place ?? '', values);
  });
}

function lookUp(place: string, values: Readonly<Record<string, unknown>>): string {
  const parts = /^([a-z_]+)((?:\[[^\][]+\])*)$/i.exec(place);
  const keys = parts
    ? [parts[1] ?? '', ...[...(parts[2] ?? '').matchAll(/\[([^\]]+)\]/g)].map(([, key]) => key ?? '')]
    : [];
  let value: unknown = keys.length === 0 ? undefined : values;
  for (const key of keys) {
    const inside = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    value = inside ? (value as Readonly<Record<string, unknown>>)[key] : undefined;
  }
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  throw new AppError('invalid_argument', `{${place}} stands for no text: try {node[uuid]} or {ports[0][address]}`);
}
