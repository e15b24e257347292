//! Rules across artifacts, one file per artifact type; each rule carries its id beside the check.
