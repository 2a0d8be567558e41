import type { JsonObject } from '#conductor/model/json-object.ts';
import { parseYaml } from '#conductor/sites/documents/parse-yaml.ts';
import { isMapping } from '#conductor/sites/site-document.ts';
import { AppError } from '#shared/errors/app-error.ts';

/**
 * A small body in YAML or JSON; none at all is an empty mapping.
 * @throws AppError `invalid_argument` for anything else.
 */
export function readMapping(text: string): JsonObject {
  const wrong = (cause?: unknown): AppError =>
    new AppError('invalid_argument', 'body: it must be a mapping, as JSON or YAML', { cause });
  const value = readYaml(text, wrong) ?? {};
  // what YAML has beyond JSON would not be kept as it is
  const plain = asJson(value, wrong);
  if (!isMapping(plain) || /\\u(0000|d[89a-f])/i.test(JSON.stringify(plain))) throw wrong();
  return plain;
}

function readYaml(text: string, wrong: (cause: unknown) => AppError): unknown {
  try {
    return parseYaml(text);
  } catch (error) {
    throw wrong(error);
  }
}

/** Aliases can make a value that holds itself. */
function asJson(value: unknown, wrong: (cause: unknown) => AppError): unknown {
  try {
    return JSON.parse(JSON.stringify(value)) as unknown;
  } catch (error) {
    throw wrong(error);
  }
}
