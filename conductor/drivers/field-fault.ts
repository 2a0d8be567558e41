import type { z } from 'zod';
import type { DriverDefinition } from '#conductor/drivers/driver-definition.ts';
import { describeIssues } from '#shared/errors/describe-issues.ts';

/** Checks single fields by the schema that the driver reads them all with. */
export function fieldFaultBy(shape: Readonly<Record<string, z.ZodType>>): NonNullable<DriverDefinition['fieldFault']> {
  const schemas = new Map(Object.entries(shape));
  return (field, value) => {
    const refused = schemas.get(field)?.safeParse(value).error;
    return refused && describeIssues(refused);
  };
}
