import type { ErrorObject } from 'ajv';
import draft4 from 'ajv-draft-04';
import { z } from 'zod';
import { expectedMessage } from '#conductor/model/expected.ts';
import type { SiteFault } from '#conductor/model/site/site-report.ts';
import { usedSchemas } from '#conductor/sites/documents/yaml/upload-faults.ts';
import { documentOf, isMapping, type SiteDocument } from '#conductor/sites/site.ts';
import { runWithin } from '#shared/run-within.ts';
import { nameSome, nearestWord } from '#shared/words.ts';

/** Names and values that are shown in tables and on terminals. */
export const shownText = z
  .string(expectedMessage('text'))
  .min(1, 'must not be empty')
  .regex(/^\P{Cc}*$/u, 'must have no control characters');

/** A mapping with these fields and no others; what is unknown is reported with the fields there are. */
export function strictObject<Shape extends z.core.$ZodLooseShape>(shape: Shape): z.ZodObject<Shape, z.core.$strict> {
  const fields = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) => {
      if (issue.code !== 'unrecognized_keys') return issue.input === undefined ? 'is missing' : 'must be a mapping';
      return issue.keys.map((key) => unknownField(key, fields)).join('\n');
    },
  });
}

function unknownField(key: string, fields: readonly string[]): string {
  const meant = nearestWord(key, fields);
  return `is not known here${meant === undefined ? '' : `; did you mean ${meant}?`}; there are ${fields.join(', ')}`;
}

/** Lists what zod found in a document's `data`, one fault for each; the message begins with the field. */
function schemaFaults(document: SiteDocument, error: z.ZodError): SiteFault[] {
  return error.issues.flatMap(insideUnions).flatMap((issue) => {
    if (issue.code === 'unrecognized_keys') {
      const messages = issue.message.split('\n');
      return issue.keys.map((key, index) =>
        fieldFault(document, ['data', ...issue.path, key], messages[index] ?? issue.message, 'UnknownField'),
      );
    }
    const message = `${issue.message}${describeGiven(document.data, issue)}`;
    return [{ ...fieldFault(document, ['data', ...issue.path], message, 'InvalidValue'), rule: issue.message }];
  });
}

const longestGiven = 40;
/** Fields whose values are not repeated: they are secrets, or somebody has put one there. */
const secretField = /pass|secret|token|credential|key|config_drive|bios_settings|kernel_params/i;

/** ` (given: 190)` of a rule that a number or a short text has broken; empty for all others. */
function describeGiven(data: unknown, issue: z.core.$ZodIssue): string {
  const { path } = issue;
  if (issue.code === 'custom' && issue.params?.['quotesValue'] === true) return '';
  if (path.some((part) => secretField.test(String(part)))) return '';
  const value = path.reduce<unknown>(
    (at, part) => (typeof at === 'object' && at !== null ? (Reflect.get(at, part) as unknown) : undefined),
    data,
  );
  if (typeof value === 'number' || typeof value === 'boolean') return ` (given: ${value})`;
  const isShown = typeof value === 'string' && value !== '' && value.length <= longestGiven;
  // user:password@host
  return isShown && !/\p{Cc}|@/u.test(value) ? ` (given: ${JSON.stringify(value)})` : '';
}

/** Finds what is wrong within the mapping that a union offers, rather than that it is none of its choices. */
function insideUnions(issue: z.core.$ZodIssue): readonly z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue];
  const deeper = issue.errors.find((issues) =>
    issues.some(({ path, code }) => path.length > 0 || code === 'unrecognized_keys' || code === 'custom'),
  );
  if (!deeper) return [issue];
  return deeper.map((each) => ({ ...each, path: [...issue.path, ...each.path] })).flatMap(insideUnions);
}

/** A fault at a field. @param message what follows the field's name: `must be …` */
export function fieldFault(
  document: SiteDocument,
  path: readonly PropertyKey[],
  message: string,
  name: string,
  level: SiteFault['level'] = 'Error',
): SiteFault {
  const last = path.findLastIndex((part) => typeof part === 'string');
  const field = pathText(path.slice(Math.max(last, 0)));
  return { ...documentFault(document, `${field} ${message}`, name, level), path: pathText(path) };
}

export function documentFault(
  document: SiteDocument,
  message: string,
  name: string,
  level: SiteFault['level'] = 'Error',
): SiteFault {
  return { level, name, message, document: documentOf(document) };
}

/** `data.groups[2].depends_on[0]` */
function pathText(path: readonly PropertyKey[]): string {
  return path.reduce<string>(
    (all, part) => (typeof part === 'number' ? `${all}[${part}]` : `${all}${all === '' ? '' : '.'}${String(part)}`),
    '',
  );
}

/** `; did you mean X?; there are a, b, c`: for a name that is none. At most ten of them are listed. */
export function namesThereAre(given: string, names: readonly string[]): string {
  const meant = nearestWord(given, names);
  const listed = nameSome(names, 10);
  return `${meant === undefined ? '' : `; did you mean ${meant}?`}; there ${names.length === 1 ? 'is' : 'are'} ${listed || 'none'}`;
}

/** Suggests names as `namesThereAre` does, for the first names of a check that are none; for the others nothing. */
export type SuggestNames = (given: string, names: Iterable<string>) => string;

/**
 * To look for what was meant among ten thousand names takes its time, and each of ten thousand nodes may have a name that
 * is none: one for all of a check.
 */
export function newSuggestNames(limit = 20): SuggestNames {
  const faultTexts = { count: 0 };
  return (given, names) => {
    faultTexts.count += 1;
    return faultTexts.count > limit ? '' : namesThereAre(given, [...names]);
  };
}

/** The document's `data` as the schema has it; `undefined` with its faults otherwise. */
export function readData<Output>(
  document: SiteDocument,
  schema: z.ZodType<Output>,
  faults: SiteFault[],
): Output | undefined {
  if (!isMapping(document.data)) {
    const message = document.data === undefined || document.data === null ? 'is missing' : 'must be a mapping';
    faults.push(fieldFault(document, ['data'], message, 'InvalidValue'));
    return undefined;
  }
  const parsed = schema.safeParse(document.data);
  if (parsed.success) return parsed.data;
  faults.push(...schemaFaults(document, parsed.error));
  return undefined;
}

/** Deckhand's `DataSchema`: `metadata.name` is a kind of documents, whose `data` must match the JSON Schema in this one's `data`. */
export const dataSchema = 'deckhand/DataSchema/v1';

type BySchema = ReadonlyMap<string, ReadonlyMap<string, SiteDocument>>;
type Validate = (data: unknown) => readonly ErrorObject[];

/** Time for one schema, for all its documents. */
const milliseconds = 2000;
/** Reported of one document. */
const mostFaults = 20;

/**
 * Where rendered documents are not as the site's own `deckhand/DataSchema/v1` say, by draft 4 of JSON Schema, as in
 * Deckhand. An Error of what Baton works from, a Warning of others' documents, and of a schema that can't be used. Pure.
 */
export function dataSchemaFaults(bySchema: BySchema): SiteFault[] {
  const schemas = [...(bySchema.get(dataSchema)?.values() ?? [])];
  return schemas.flatMap((schema) => faultsBy(schema, [...(bySchema.get(schema.name)?.values() ?? [])]));
}

function faultsBy(schema: SiteDocument, documents: readonly SiteDocument[]): SiteFault[] {
  const unusable = (why: string): SiteFault[] => [
    documentFault(schema, `the schema can't be used, and checks nothing: ${why}`, 'InvalidSchema', 'Warning'),
  ];
  const read: { validate?: Validate | string } = {};
  const faults: SiteFault[] = [];
  const hasEnded = runWithin(milliseconds, () => {
    read.validate = compile(schema.data);
    if (typeof read.validate === 'string') return;
    for (const document of documents) faults.push(...faultsOf(document, read.validate(document.data ?? null)));
  });
  if (!hasEnded) return unusable(`checking its documents takes longer than ${milliseconds / 1000} s`);
  return typeof read.validate === 'string' ? unusable(read.validate) : faults;
}

/** @returns why it can't be used, as text */
function compile(schema: unknown): Validate | string {
  if (!isMapping(schema)) return 'its data must be a mapping';
  // what Airship's schemas name as `$schema` says no draft, and Deckhand does not look at it; with `$async` there would be
  // a promise that nobody waits for
  const { $schema: _schema, $async: _async, ...rules } = schema;
  const compiler = new draft4.default({ strict: false, allErrors: true, validateFormats: false, logger: false });
  try {
    const validate = compiler.compile(rules);
    return (data) => (validate(data) ? [] : (validate.errors ?? []));
  } catch (error) {
    if (error instanceof Error) return error.message;
    throw error;
  }
}

function faultsOf(document: SiteDocument, errors: readonly ErrorObject[]): SiteFault[] {
  const level = usedSchemas.has(document.schema) ? 'Error' : 'Warning';
  return errors.slice(0, mostFaults).map(({ instancePath, message = 'is invalid', params }) => {
    const path = instancePath.split('/').slice(1).map(unescape);
    const unknown: unknown = Reflect.get(params, 'additionalProperty');
    const rule = typeof unknown === 'string' ? `${message}: ${unknown}` : message;
    const shownText = `${rule} (${dataSchema} ${document.schema})`;
    return { ...fieldFault(document, ['data', ...path], shownText, 'SchemaViolation', level), rule: shownText };
  });
}

/** A part of a JSON pointer; places in lists are numbers. */
function unescape(part: string): string | number {
  return /^\d+$/.test(part) ? Number(part) : part.replaceAll('~1', '/').replaceAll('~0', '~');
}
