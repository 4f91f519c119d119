//! The utilities that are uutils' as they are, and which module has which.

use crate::Utility;

macro_rules! utilities {
    ($($name:literal => $krate:ident,)*) => {
        &[$(Utility { name: $name, main: $krate::uumain },)*]
    };
}

/// The small module: what shells and scripts call all the time.
pub(crate) const BASE: &[Utility] = utilities! {
    "basename" => uu_basename,
    "cat" => uu_cat,
    "cut" => uu_cut,
    "dirname" => uu_dirname,
    "echo" => uu_echo,
    "false" => uu_false,
    "head" => uu_head,
    "ln" => uu_ln,
    "printenv" => uu_printenv,
    "printf" => uu_printf,
    "pwd" => uu_pwd,
    "readlink" => uu_readlink,
    "realpath" => uu_realpath,
    "rm" => uu_rm,
    "rmdir" => uu_rmdir,
    "tail" => uu_tail,
    "tr" => uu_tr,
    "true" => uu_true,
    "uniq" => uu_uniq,
    "wc" => uu_wc,
    "yes" => uu_yes,
};

/// The other module: larger and rarer utilities.
pub(crate) const FULL: &[Utility] = utilities! {
    "b2sum" => uu_b2sum,
    "base32" => uu_base32,
    "base64" => uu_base64,
    "basenc" => uu_basenc,
    "cksum" => uu_cksum,
    "comm" => uu_comm,
    "cp" => uu_cp,
    "csplit" => uu_csplit,
    "date" => uu_date,
    "dircolors" => uu_dircolors,
    "expand" => uu_expand,
    "expr" => uu_expr,
    "factor" => uu_factor,
    "fmt" => uu_fmt,
    "fold" => uu_fold,
    "hostid" => uu_hostid,
    "join" => uu_join,
    "link" => uu_link,
    "md5sum" => uu_md5sum,
    "mv" => uu_mv,
    "nl" => uu_nl,
    "numfmt" => uu_numfmt,
    "od" => uu_od,
    "paste" => uu_paste,
    "pathchk" => uu_pathchk,
    "pr" => uu_pr,
    "ptx" => uu_ptx,
    "seq" => uu_seq,
    "sha1sum" => uu_sha1sum,
    "sha224sum" => uu_sha224sum,
    "sha256sum" => uu_sha256sum,
    "sha384sum" => uu_sha384sum,
    "sha512sum" => uu_sha512sum,
    "shred" => uu_shred,
    "shuf" => uu_shuf,
    "sort" => uu_sort,
    "split" => uu_split,
    "sum" => uu_sum,
    "touch" => uu_touch,
    "truncate" => uu_truncate,
    "tsort" => uu_tsort,
    "tty" => uu_tty,
    "unexpand" => uu_unexpand,
    "unlink" => uu_unlink,
};

/// Options that need a child process, which `std` does not have here: upstream would take them and do nothing.
pub(crate) const UNSUPPORTED: &[(&str, &str)] =
    &[("sort", "--compress-program"), ("split", "--filter")];
