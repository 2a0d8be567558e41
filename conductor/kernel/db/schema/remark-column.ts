import { customType } from 'drizzle-orm/pg-core';
import { isRemark, type Remark, textRemark } from '#conductor/model/remarks/remark.ts';

export function storeRemark(remark: Remark): string {
  return JSON.stringify(remark);
}

/** Reads a column's text as a remark: releases before this one have stored plain text, which is shown as it is. */
export function restoreRemark(stored: string): Remark {
  try {
    const value: unknown = JSON.parse(stored);
    return isRemark(value) ? value : textRemark(stored);
  } catch (error) {
    if (error instanceof SyntaxError) return textRemark(stored);
    throw error;
  }
}

/** A column of text that holds a remark: conductors of an earlier release may write to the same rows. */
export const remarkColumn = customType<{ data: Remark; driverData: string }>({
  dataType: () => 'text',
  toDriver: storeRemark,
  fromDriver: restoreRemark,
});
