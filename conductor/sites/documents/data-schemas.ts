import type { ErrorObject } from 'ajv';
import draft4 from 'ajv-draft-04';
import type { SiteFault } from '#conductor/model/site-fault.ts';
import { documentFault, fieldFault } from '#conductor/sites/documents/schema-faults.ts';
import { usedSchemas } from '#conductor/sites/documents/upload-faults.ts';
import { runWithin } from '#conductor/sites/rendering/substitute.ts';
import { isMapping, type SiteDocument } from '#conductor/sites/site-document.ts';

/** Deckhand's `DataSchema`: `metadata.name` is a kind of documents, whose `data` must match the JSON Schema in this one's `data`. */
export const dataSchema = 'deckhand/DataSchema/v1';

type BySchema = ReadonlyMap<string, ReadonlyMap<string, SiteDocument>>;
type Validate = (data: unknown) => readonly ErrorObject[];

/** Of one schema, for all its documents. */
const milliseconds = 2000;
/** Told of one document. */
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
    const text = `${rule} (${dataSchema} ${document.schema})`;
    return { ...fieldFault(document, ['data', ...path], text, 'SchemaViolation', level), rule: text };
  });
}

/** A part of a JSON pointer; places in lists are numbers. */
function unescape(part: string): string | number {
  return /^\d+$/.test(part) ? Number(part) : part.replaceAll('~1', '/').replaceAll('~0', '~');
}
